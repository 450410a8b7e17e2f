#ifndef SERVICES_GATEWAY_ACTIONS_ACTION_UPSTREAM_H_
#define SERVICES_GATEWAY_ACTIONS_ACTION_UPSTREAM_H_

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "common/remediation/approval_store.h"
#include "common/security/audit/audit_log.h"
#include "galen/v1/action_service.pb.h"
#include "services/gateway/api/upstream.h"

namespace galen::gateway::actions {

// Answers ActionService here, where it is known which person asks, and hands every other call on.
// Every decision and dry run that was asked for, granted or not, is a record of the audit log.
// Thread-safe.
class ActionUpstream final : public Upstream {
 public:
  // `audit` may be null. `executor` waits for the store. `execution` asks machines for dry runs;
  // null: FAILED_PRECONDITION. All must outlive it, and `execution` must outlive the tasks in
  // `executor`.
  ActionUpstream(Upstream& mesh, galen::remediation::ApprovalStore& approvals, Executor& executor,
                 const Clock& clock, security::AuditLog* audit,
                 clients::ExecutionClient* execution = nullptr);

  clients::Cancel Ask(Call call, clients::Done<Answer> done) override;
  std::shared_ptr<Feed> Follow(
      Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
      absl::AnyInvocable<void(absl::Status) &&> done) override;

 private:
  absl::StatusOr<Answer> Do(const Call& call, const galen::v1::Diagnosis& diagnosis);
  void DryRun(const Call& call, const galen::v1::Diagnosis& diagnosis,
              clients::Done<galen::v1::DryRun> done);
  void Audit(const Call& call, const absl::Status& status);

  Upstream& mesh_;
  galen::remediation::ApprovalStore& approvals_;
  Executor& executor_;
  const Clock& clock_;
  security::AuditLog* const audit_;
  clients::ExecutionClient* const execution_;
};

}  // namespace galen::gateway::actions

#endif  // SERVICES_GATEWAY_ACTIONS_ACTION_UPSTREAM_H_
