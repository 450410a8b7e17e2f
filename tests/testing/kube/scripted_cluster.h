#ifndef TESTS_TESTING_KUBE_SCRIPTED_CLUSTER_H_
#define TESTS_TESTING_KUBE_SCRIPTED_CLUSTER_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/kube/client.h"

namespace galen::testing {

// Answers the requests of a client and provides its clock: a pause takes no real time.
class ScriptedCluster {
 public:
  struct Seen {
    std::string method;
    std::string target;
    std::string content_type;
    std::string body;
    std::string token;
    std::string line() const { return absl::StrCat(method, " ", target); }
  };
  // `number` counts requests from 0. The lines of a watch go to request.on_bytes.
  using Script =
      std::function<absl::StatusOr<kube::HttpReply>(const kube::HttpRequest& request, int number)>;

  explicit ScriptedCluster(Script script) : state_(std::make_shared<State>()) {
    state_->script = std::move(script);
  }

  std::unique_ptr<kube::Client> Connect(const std::function<void(kube::Options&)>& change = {}) {
    kube::Options options;
    options.server = "https://api.test";
    options.requests_per_second = 1000;
    options.burst = 1000;
    options.retry.base = absl::Seconds(1);
    if (change) change(options);
    kube::Dependencies dependencies;
    dependencies.transport = std::make_unique<Transport>(state_);
    dependencies.now = [state = state_] { return state->Now(); };
    dependencies.sleep = [state = state_](absl::Duration duration, const Cancellation& ended) {
      return state->Sleep(duration, ended);
    };
    dependencies.chance = [] { return 0.5; };
    auto client = kube::Client::Make(options, std::move(dependencies));
    if (!client.ok()) {
      ADD_FAILURE() << client.status();
      return nullptr;
    }
    return *std::move(client);
  }

  std::vector<Seen> seen() const {
    const std::lock_guard lock(state_->mu);
    return state_->seen;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Seen& one : seen()) lines.push_back(one.line());
    return lines;
  }
  std::vector<absl::Duration> slept() const {
    const std::lock_guard lock(state_->mu);
    return state_->slept;
  }
  // Time passes.
  void Advance(absl::Duration duration) {
    const std::lock_guard lock(state_->mu);
    state_->now += duration;
  }

 private:
  struct State {
    absl::Time Now() {
      const std::lock_guard lock(mu);
      return now;
    }
    bool Sleep(absl::Duration duration, const Cancellation& ended) {
      const std::lock_guard lock(mu);
      slept.push_back(duration);
      now += duration;
      return ended.cancelled();
    }
    std::mutex mu;
    Script script;
    std::vector<Seen> seen;
    std::vector<absl::Duration> slept;
    absl::Time now = absl::FromUnixSeconds(1'000'000);
  };
  class Transport final : public kube::Transport {
   public:
    explicit Transport(std::shared_ptr<State> state) : state_(std::move(state)) {}
    absl::StatusOr<kube::HttpReply> Send(const kube::HttpRequest& request,
                                         const http::Secret& token) override {
      int number = 0;
      {
        const std::lock_guard lock(state_->mu);
        number = static_cast<int>(state_->seen.size());
        state_->seen.push_back(
            {request.method, request.target, request.content_type, request.body, token.Reveal()});
      }
      return state_->script(request, number);
    }

   private:
    const std::shared_ptr<State> state_;
  };
  std::shared_ptr<State> state_;
};

inline kube::HttpReply Replied(const kube::Json& body, int code = 200) {
  return {code, body.dump(), {}};
}

// The Status object of an error.
inline kube::HttpReply Refused(int code, const std::string& reason,
                               const std::string& message = "said the server") {
  return Replied({{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}},
                 code);
}

}  // namespace galen::testing

#endif  // TESTS_TESTING_KUBE_SCRIPTED_CLUSTER_H_
