#include "services/execution/local_client.h"

#include <utility>

namespace galen::execution {

LocalExecutionClient::LocalExecutionClient(const CheckRunner& runner, Executor& executor)
    : runner_(runner), executor_(executor) {}

void LocalExecutionClient::ResolveNodes(const v1::ResolveNodesRequest& request, absl::Time,
                                        clients::Done<v1::ResolveNodesResponse> done) {
  clients::CallLocally<v1::ResolveNodesResponse>(
      executor_, [this, request] { return runner_.ResolveNodes(request); }, std::move(done));
}

clients::Cancel LocalExecutionClient::RunChecks(
    const v1::RunChecksRequest& request, absl::Time deadline,
    clients::OnMessage<galen::v1::CheckResult> on_result,
    absl::AnyInvocable<void(absl::Status) &&> done) {
  return runner_.RunChecks(request, deadline, std::move(on_result), std::move(done));
}

}  // namespace galen::execution
