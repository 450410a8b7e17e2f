#include "services/watch/node_follower.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace galen::watch {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestPause = absl::Seconds(10);

}  // namespace

NodeFollower::NodeFollower(clients::ExecutionClient& execution, HealthEventIntake& intake,
                           std::function<void(const absl::Status&)> on_problem)
    : execution_(execution),
      intake_(intake),
      on_problem_(std::move(on_problem)),
      thread_([this] { Loop(); }) {}

NodeFollower::~NodeFollower() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    ending_ = true;
    if (cancel_) cancel_();
  }
  ended_.notify_all();
  thread_.join();
}

void NodeFollower::Begin(const std::shared_ptr<Call>& call) {
  // The callbacks do not refer to the follower: the intake outlives it.
  clients::Cancel cancel = execution_.WatchNodes(
      execution::v1::WatchNodesRequest(),
      [&intake = intake_, tell = on_problem_, call](execution::v1::NodeEvent noticed) {
        {
          const std::lock_guard<std::mutex> lock(call->mu);
          call->heard = true;
        }
        if (!noticed.trouble().empty() || !noticed.has_finding()) return;
        v1::ReportHealthRequest request;
        v1::HealthEvent& event = *request.add_events();
        event.set_node(noticed.node());
        event.set_check(noticed.check());
        *event.mutable_finding() = std::move(*noticed.mutable_finding());
        *event.mutable_noticed_at() = noticed.noticed_at();
        event.set_source("galen-node");
        intake.Report(std::move(request), [tell](const absl::StatusOr<std::int64_t>& position) {
          if (!position.ok()) tell(position.status());
        });
      },
      [call](absl::Status status) {
        const std::lock_guard<std::mutex> lock(call->mu);
        call->ended = true;
        call->status = std::move(status);
        call->changed.notify_all();
      });
  const std::lock_guard<std::mutex> lock(mu_);
  if (ending_) {
    cancel();
  } else {
    cancel_ = std::move(cancel);
  }
}

void NodeFollower::Loop() {
  absl::Duration pause = kFirstPause;
  bool told = false;
  for (;;) {
    const auto call = std::make_shared<Call>();
    Begin(call);
    absl::Status status;
    {
      std::unique_lock<std::mutex> lock(call->mu);
      call->changed.wait(lock, [&] { return call->ended; });
      status = call->status;
      if (call->heard) {
        pause = kFirstPause;
        told = false;
      }
    }
    std::unique_lock<std::mutex> lock(mu_);
    cancel_ = nullptr;
    if (ending_) return;
    if (!std::exchange(told, true)) {
      on_problem_(absl::UnavailableError(
          absl::StrCat("nothing is heard of the nodes: ",
                       status.ok() ? "execution ended the watch" : std::string(status.message()),
                       "; it is tried again")));
    }
    ended_.wait_for(lock, absl::ToChronoNanoseconds(pause), [this] { return ending_; });
    if (ending_) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace galen::watch
