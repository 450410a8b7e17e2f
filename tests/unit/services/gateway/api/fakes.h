#ifndef TESTS_UNIT_SERVICES_GATEWAY_API_FAKES_H_
#define TESTS_UNIT_SERVICES_GATEWAY_API_FAKES_H_

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/mutex.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/routes.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway {

inline std::vector<Route> PublicRoutes() {
  return RoutesOf(*galen::v1::CreateDiagnosisRequest::descriptor()->file()->FindServiceByName(
                      "DiagnosisService"))
      .value();
}

// The response that a client would get.
class FakeExchange final : public http::Exchange {
 public:
  void Respond(http::Response response) override {
    const MutexLock lock(mu_);
    response_ = std::move(response);
    done_ = true;
    changed_.notify_all();
  }
  void Begin(http::Response head) override {
    const MutexLock lock(mu_);
    text_ += head.body;
    response_ = std::move(head);
    begun_ = true;
    changed_.notify_all();
  }
  bool Write(std::string piece) override {
    const MutexLock lock(mu_);
    if (full_ || done_) return false;
    text_ += piece;
    changed_.notify_all();
    return true;
  }
  void End() override {
    const MutexLock lock(mu_);
    done_ = true;
    changed_.notify_all();
  }
  void OnRoom(absl::AnyInvocable<void()> room) override { room_ = std::move(room); }
  void OnHangUp(absl::AnyInvocable<void()> gone) override { gone_ = std::move(gone); }

  // Events of the server.
  void SetFull(bool full) {
    const MutexLock lock(mu_);
    full_ = full;
  }
  void TellRoom() { room_(); }
  void HangUp() { gone_(); }

  http::Response AwaitResponse() {
    const MutexLock lock(mu_);
    while (!done_ && !begun_) mu_.Wait(changed_);
    return response_;
  }
  // The streamed body, once it has `part` in it, or has ended.
  std::string AwaitText(const std::string& part) {
    const MutexLock lock(mu_);
    while (!done_ && !absl::StrContains(text_, part)) mu_.Wait(changed_);
    return text_;
  }
  std::string AwaitEnd() {
    const MutexLock lock(mu_);
    while (!done_) mu_.Wait(changed_);
    return text_;
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  bool full_ ABSL_GUARDED_BY(mu_) = false;
  http::Response response_ ABSL_GUARDED_BY(mu_);
  std::string text_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void()> room_;
  absl::AnyInvocable<void()> gone_;
};

// Gives the answer that was set; a stream gives the events that the test pushes.
class FakeUpstream final : public Upstream {
 public:
  struct Stream final : Feed {
    explicit Stream(Call made) : call(std::move(made)) {}
    void Next() override { ++asked; }
    void Cancel() override { cancelled = true; }
    // As gRPC would, after it was asked.
    void Give(std::int64_t sequence) {
      galen::v1::DiagnosisEvent event;
      event.set_sequence(sequence);
      event.mutable_cancelled()->set_reason("line\nbreak");
      --asked;
      on_message(event);
    }
    void Done(absl::Status end) { std::move(done)(std::move(end)); }
    Call call;
    int asked = 0;
    bool cancelled = false;
    absl::AnyInvocable<void(const google::protobuf::Message&)> on_message;
    absl::AnyInvocable<void(absl::Status) &&> done;
  };

  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    calls.push_back(call);
    if (!answers) {
      unanswered.push_back(std::move(done));
      return [this] { ++cancelled; };
    }
    if (!status.ok()) {
      std::move(done)(status);
      return clients::NoCancel();
    }
    Answer answer(google::protobuf::MessageFactory::generated_factory()
                      ->GetPrototype(call.method->output_type())
                      ->New());
    if (answer->GetDescriptor() == response.GetDescriptor()) answer->CopyFrom(response);
    std::move(done)(std::move(answer));
    return clients::NoCancel();
  }
  std::shared_ptr<Feed> Follow(
      Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
      absl::AnyInvocable<void(absl::Status) &&> done) override {
    auto stream = std::make_shared<Stream>(std::move(call));
    stream->on_message = std::move(on_message);
    stream->done = std::move(done);
    streams.push_back(stream);
    return stream;
  }

  bool answers = true;
  absl::Status status;
  galen::v1::Diagnosis response;
  std::vector<Call> calls;
  std::vector<clients::Done<Answer>> unanswered;
  std::vector<std::shared_ptr<Stream>> streams;
  int cancelled = 0;
};

}  // namespace galen::gateway

#endif  // TESTS_UNIT_SERVICES_GATEWAY_API_FAKES_H_
