#ifndef SERVICES_NODE_LOCAL_CLIENT_H_
#define SERVICES_NODE_LOCAL_CLIENT_H_

#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "services/node/executor.h"
#include "services/node/watch/event_hub.h"

namespace galen::node {

// Hands calls straight to a NodeExecutor of this process.
class LocalNodeClient final : public clients::NodeClient {
 public:
  // All must outlive the client and every call in flight. `hub`: of this machine's watch; nullptr:
  // it is not watched.
  LocalNodeClient(const NodeExecutor& node, Executor& executor, EventHub* hub = nullptr);
  clients::Cancel RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  clients::Cancel Watch(const v1::WatchRequest& request,
                        clients::OnMessage<v1::WatchEvent> on_event,
                        absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Describe(const v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<v1::DescribeResponse> done) override;

 private:
  const NodeExecutor& node_;
  Executor& executor_;
  EventHub* const hub_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_LOCAL_CLIENT_H_
