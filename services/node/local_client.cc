#include "services/node/local_client.h"

#include <memory>
#include <utility>

namespace galen::node {

LocalNodeClient::LocalNodeClient(const NodeExecutor& node, Executor& executor)
    : node_(node), executor_(executor) {}

clients::Cancel LocalNodeClient::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                                clients::OnMessage<galen::v1::CheckResult> on_result,
                                absl::AnyInvocable<void(absl::Status) &&> done) {
  // The queue takes the task or not, so both ends share the callback.
  auto end = std::make_shared<absl::AnyInvocable<void(absl::Status) &&>>(std::move(done));
  const bool taken = executor_.TrySchedule([this, request, deadline,
                                            on_result = std::move(on_result), end]() mutable {
    absl::Status status = node_.RunChecks(
        request, deadline, [&](galen::v1::CheckResult result) { on_result(std::move(result)); });
    std::move (*end)(std::move(status));
  });
  if (!taken) {
    std::move (*end)(absl::ResourceExhaustedError("this process is at its concurrency limit"));
  }
  return clients::NoCancel();
}

void LocalNodeClient::Describe(const v1::DescribeRequest&, absl::Time,
                               clients::Done<v1::DescribeResponse> done) {
  clients::CallLocally<v1::DescribeResponse>(
      executor_, [this] { return node_.Describe(); }, std::move(done));
}

}  // namespace galen::node
