#include "services/gateway/actions/action_upstream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/observability/trace/trace.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::gateway::actions {
namespace {

const google::protobuf::MethodDescriptor& GetDiagnosis() {
  return *galen::v1::GetDiagnosisRequest::descriptor()
              ->file()
              ->FindServiceByName("DiagnosisService")
              ->FindMethodByName("GetDiagnosis");
}

bool IsOurs(const Upstream::Call& call) {
  return call.method->service()->full_name() == "galen.v1.ActionService";
}

// "tenants/t/diagnoses/d" of "tenants/t/diagnoses/d/actions/a".
std::string DiagnosisOf(const std::string& resource) {
  return resource.substr(0, resource.find("/actions/"));
}

absl::Status MayDecide(const Principal& asker) {
  // (These roles belong to persons. The tenant was checked before, as for everyone.)
  if (asker.role == UserRole::kApprover || asker.role == UserRole::kAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("this key is of role ", NameOf(asker.role), "; an approver's is needed"));
}

// A client that may have a machine examined in general may have it examined for this, too.
absl::Status MayTry(const Principal& asker) {
  if (asker.role >= UserRole::kOperator) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("this key is of role ", NameOf(asker.role),
                                                  "; an operator's or approver's is needed"));
}

absl::Status MayAsk(const Upstream::Call& call) {
  const absl::string_view method = call.method->name();
  if (method == "ListActions") return absl::OkStatus();
  return method == "DryRunAction" ? MayTry(call.asker) : MayDecide(call.asker);
}

// The part of an action that a dry run needs. The rest is about its approval and does not concern
// the machine.
galen::v1::Action ContentOf(const galen::v1::Action& action) {
  galen::v1::Action content;
  content.set_name(action.name());
  content.set_label(action.label());
  content.set_text(action.text());
  *content.mutable_target() = action.target();
  content.set_run(action.run());
  *content.mutable_plan() = action.plan();
  content.set_content_hash(action.content_hash());
  return content;
}

// Compares a machine's dry run with the action that would be approved.
galen::v1::DryRun Compared(const galen::v1::Action& action, galen::v1::DryRun said) {
  said.set_name(action.name());
  const bool same = said.content_hash() == action.content_hash() &&
                    std::equal(said.plan().begin(), said.plan().end(), action.plan().begin(),
                               action.plan().end());
  if (!same && said.same_plan()) {
    said.set_text("the plan of the machine differs from the proposed plan");
  }
  said.set_same_plan(same);
  said.set_would_run(said.would_run() && same);
  return said;
}

absl::Duration LifetimeOf(const galen::v1::ApproveActionRequest& request) {
  if (!request.has_lifetime()) return galen::remediation::kUsualLifetime;
  return ToDuration(request.lifetime());
}

}  // namespace

ActionUpstream::ActionUpstream(Upstream& mesh, galen::remediation::ApprovalStore& approvals,
                               Executor& executor, const Clock& clock, security::AuditLog* audit,
                               clients::ExecutionClient* execution)
    : mesh_(mesh),
      approvals_(approvals),
      executor_(executor),
      clock_(clock),
      audit_(audit),
      execution_(execution) {}

std::shared_ptr<Upstream::Feed> ActionUpstream::Follow(
    Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
    absl::AnyInvocable<void(absl::Status) &&> done) {
  return mesh_.Follow(std::move(call), std::move(on_message), std::move(done));
}

void ActionUpstream::Audit(const Call& call, const absl::Status& status) {
  if (audit_ == nullptr || call.method->name() == "ListActions") return;
  security::AuditRecord record;
  record.time = clock_.Now();
  record.trace = trace::TraceIdOf(trace::Current().context);
  record.peer = NameOf(call.asker);
  record.method = absl::StrCat("/", call.method->service()->full_name(), "/", call.method->name());
  record.resource = call.resource;
  record.outcome = absl::StatusCodeToString(status.code());
  record.reason = std::string(status.message());
  audit_->Put(record);
}

absl::StatusOr<Upstream::Answer> ActionUpstream::Do(const Call& call,
                                                    const galen::v1::Diagnosis& diagnosis) {
  const absl::Time now = clock_.Now();
  if (dynamic_cast<const galen::v1::ListActionsRequest*>(call.request.get()) != nullptr) {
    auto answer = std::make_unique<galen::v1::ListActionsResponse>();
    GALEN_ASSIGN_OR_RETURN(const std::vector<galen::v1::Action> actions,
                           approvals_.List(diagnosis, now));
    for (const galen::v1::Action& action : actions) *answer->add_actions() = action;
    return answer;
  }
  galen::remediation::ApprovalStore::Decision decision;
  decision.by = absl::StrCat("key/", call.asker.id);
  if (const auto* approve =
          dynamic_cast<const galen::v1::ApproveActionRequest*>(call.request.get())) {
    decision.name = approve->name();
    decision.etag = approve->etag();
    decision.reason = approve->reason();
    decision.lifetime = LifetimeOf(*approve);
    decision.approve = true;
  } else if (const auto* reject =
                 dynamic_cast<const galen::v1::RejectActionRequest*>(call.request.get())) {
    decision.name = reject->name();
    decision.etag = reject->etag();
    decision.reason = reject->reason();
  } else {
    return absl::UnimplementedError(absl::StrCat(call.method->full_name(), ": is not known here"));
  }
  GALEN_ASSIGN_OR_RETURN(const galen::v1::Action action,
                         approvals_.Decide(diagnosis, decision, now));
  return std::make_unique<galen::v1::Action>(action);
}

void ActionUpstream::DryRun(const Call& call, const galen::v1::Diagnosis& diagnosis,
                            clients::Done<galen::v1::DryRun> done) {
  absl::StatusOr<std::vector<galen::v1::Action>> listed = approvals_.List(diagnosis, clock_.Now());
  if (!listed.ok()) return std::move(done)(listed.status());
  // (As it is proposed now; it may be proposed again in another form.)
  const auto action =
      std::find_if(listed->begin(), listed->end(),
                   [&call](const galen::v1::Action& one) { return one.name() == call.resource; });
  if (action == listed->end() || action->state() == galen::v1::Action::WITHDRAWN) {
    return std::move(done)(absl::NotFoundError(
        absl::StrCat(CleanText(call.resource, 300), ": the diagnosis proposes no such action")));
  }
  if (!absl::StartsWith(action->run(), "node.")) {
    return std::move(done)(absl::FailedPreconditionError(absl::StrCat(
        action->name(),
        action->run().empty() ? ": a person does it" : ": is done by the cluster's API server",
        "; only what runs on a machine itself can be tried there")));
  }
  if (execution_ == nullptr) {
    return std::move(done)(absl::FailedPreconditionError(
        "this gateway makes no dry runs: it was started without --execution"));
  }
  execution::v1::DryRunRepairRequest request;
  request.set_diagnosis(diagnosis.name());
  *request.mutable_action() = ContentOf(*action);
  execution_->DryRunRepair(request, call.deadline,
                           [action = request.action(), done = std::move(done)](
                               absl::StatusOr<galen::v1::DryRun> said) mutable {
                             if (!said.ok()) return std::move(done)(said.status());
                             std::move(done)(Compared(action, *std::move(said)));
                           });
}

clients::Cancel ActionUpstream::Ask(Call call, clients::Done<Answer> done) {
  if (!IsOurs(call)) return mesh_.Ask(std::move(call), std::move(done));
  const trace::Work work = trace::Current();
  if (const absl::Status status = MayAsk(call); !status.ok()) {
    Audit(call, status);
    std::move(done)(status);
    return [] {};
  }
  auto request = std::make_shared<galen::v1::GetDiagnosisRequest>();
  request->set_name(DiagnosisOf(call.resource));
  Call read;
  read.method = &GetDiagnosis();
  read.request = request;
  read.resource = request->name();
  read.deadline = call.deadline;
  read.again = true;
  const auto shared =
      std::make_shared<std::pair<Call, clients::Done<Answer>>>(std::move(call), std::move(done));
  const auto end = [this, shared, work](absl::StatusOr<Answer> answer) {
    const trace::Scope scope(work);
    Audit(shared->first, answer.status());
    std::move(shared->second)(std::move(answer));
  };
  return mesh_.Ask(std::move(read), [this, shared, end, work](absl::StatusOr<Answer> read_answer) {
    if (!read_answer.ok()) return end(read_answer.status());
    // The store may block, which the thread of an answer must not.
    const std::shared_ptr<google::protobuf::Message> diagnosis = *std::move(read_answer);
    const bool taken = executor_.TrySchedule([this, shared, end, diagnosis, work] {
      const trace::Scope scope(work);
      const auto* read_diagnosis = dynamic_cast<const galen::v1::Diagnosis*>(diagnosis.get());
      if (read_diagnosis == nullptr) return end(absl::InternalError("no diagnosis came"));
      if (shared->first.method->name() != "DryRunAction") {
        return end(Do(shared->first, *read_diagnosis));
      }
      DryRun(shared->first, *read_diagnosis, [end](absl::StatusOr<galen::v1::DryRun> said) {
        if (!said.ok()) return end(said.status());
        end(std::make_unique<galen::v1::DryRun>(*std::move(said)));
      });
    });
    if (!taken) end(absl::UnavailableError("the gateway is busy; try again"));
  });
}

}  // namespace galen::gateway::actions
