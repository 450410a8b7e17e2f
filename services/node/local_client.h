#ifndef SERVICES_NODE_LOCAL_CLIENT_H_
#define SERVICES_NODE_LOCAL_CLIENT_H_

#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "services/node/executor.h"

namespace galen::node {

// Hands calls straight to a NodeExecutor of this process.
class LocalNodeClient final : public clients::NodeClient {
 public:
  // Both must outlive the client and every call in flight.
  LocalNodeClient(const NodeExecutor& node, Executor& executor);
  clients::Cancel RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                 clients::OnMessage<galen::v1::CheckResult> on_result,
                 absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Describe(const v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<v1::DescribeResponse> done) override;

 private:
  const NodeExecutor& node_;
  Executor& executor_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_LOCAL_CLIENT_H_
