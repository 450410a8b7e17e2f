#ifndef SERVICES_EXECUTION_LOCAL_CLIENT_H_
#define SERVICES_EXECUTION_LOCAL_CLIENT_H_

#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "services/execution/check_runner.h"

namespace galen::execution {

// Hands calls straight to a CheckRunner of this process.
class LocalExecutionClient final : public clients::ExecutionClient {
 public:
  // Both must outlive the client and every call in flight.
  LocalExecutionClient(const CheckRunner& runner, Executor& executor);
  void ResolveNodes(const v1::ResolveNodesRequest& request, absl::Time deadline,
                    clients::Done<v1::ResolveNodesResponse> done) override;
  clients::Cancel RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;

 private:
  const CheckRunner& runner_;
  Executor& executor_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_LOCAL_CLIENT_H_
