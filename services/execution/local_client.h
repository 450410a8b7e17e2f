#ifndef SERVICES_EXECUTION_LOCAL_CLIENT_H_
#define SERVICES_EXECUTION_LOCAL_CLIENT_H_

#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "services/execution/check_runner.h"
#include "services/execution/watch_nodes.h"

namespace galen::execution {

// Hands calls straight to a CheckRunner of this process.
class LocalExecutionClient final : public clients::ExecutionClient {
 public:
  // All must outlive the client and every call in flight. `watch` nullptr: nodes are not watched.
  LocalExecutionClient(const CheckRunner& runner, Executor& executor, NodeWatch* watch = nullptr);
  void ResolveNodes(const v1::ResolveNodesRequest& request, absl::Time deadline,
                    clients::Done<v1::ResolveNodesResponse> done) override;
  clients::Cancel RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  clients::Cancel WatchNodes(const v1::WatchNodesRequest& request,
                             clients::OnMessage<v1::NodeEvent> on_event,
                             absl::AnyInvocable<void(absl::Status) &&> done) override;

 private:
  const CheckRunner& runner_;
  Executor& executor_;
  NodeWatch* const watch_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_LOCAL_CLIENT_H_
