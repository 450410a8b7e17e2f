#include "services/watch/node_follower.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/status.h"
#include "galen/execution/v1/execution.grpc.pb.h"

namespace galen::watch {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestPause = absl::Seconds(10);

}  // namespace

NodeFollower::NodeFollower(std::shared_ptr<grpc::Channel> execution, HealthDesk& desk,
                           std::function<void(const absl::Status&)> on_problem)
    : channel_(std::move(execution)),
      desk_(desk),
      on_problem_(std::move(on_problem)),
      thread_([this] { Loop(); }) {}

NodeFollower::~NodeFollower() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    ending_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  ended_.notify_all();
  thread_.join();
}

void NodeFollower::Loop() {
  absl::Duration pause = kFirstPause;
  bool told = false;
  for (;;) {
    const absl::Status status = Follow();
    std::unique_lock<std::mutex> lock(mu_);
    if (std::exchange(heard_, false)) {
      pause = kFirstPause;
      told = false;
    }
    if (ending_) return;
    if (!std::exchange(told, true)) {
      on_problem_(absl::UnavailableError(absl::StrCat(
          "nothing is heard of the nodes: ",
          status.ok() ? "execution ended the watch" : status.message(), "; it is tried again")));
    }
    ended_.wait_for(lock, absl::ToChronoNanoseconds(pause), [this] { return ending_; });
    if (ending_) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

absl::Status NodeFollower::Follow() {
  grpc::ClientContext context;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (ending_) return absl::OkStatus();
    context_ = &context;
  }
  const auto stub = execution::v1::ExecutionService::NewStub(channel_);
  const auto reader = stub->WatchNodes(&context, execution::v1::WatchNodesRequest());
  execution::v1::NodeEvent noticed;
  while (reader->Read(&noticed)) {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      heard_ = true;
    }
    if (!noticed.trouble().empty() || !noticed.has_finding()) continue;
    v1::ReportHealthRequest request;
    v1::HealthEvent& event = *request.add_events();
    event.set_node(noticed.node());
    event.set_check(noticed.check());
    *event.mutable_finding() = std::move(*noticed.mutable_finding());
    *event.mutable_noticed_at() = noticed.noticed_at();
    event.set_source("galen-node");
    // The desk outlives this object.
    desk_.Report(std::move(request),
                 [tell = on_problem_](const absl::StatusOr<std::int64_t>& position) {
                   if (!position.ok()) tell(position.status());
                 });
  }
  {
    const std::lock_guard<std::mutex> lock(mu_);
    context_ = nullptr;
  }
  return rpc::FromGrpcStatus(reader->Finish());
}

}  // namespace galen::watch
