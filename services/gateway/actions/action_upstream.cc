#include "services/gateway/actions/action_upstream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/trace/trace.h"
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
  // (A person's key; an approver's tenant was looked at before, like everyone's.)
  if (asker.role == UserRole::kApprover || asker.role == UserRole::kAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("this key is of role ", NameOf(asker.role), "; an approver's is needed"));
}

absl::Duration LifetimeOf(const galen::v1::ApproveActionRequest& request) {
  if (!request.has_lifetime()) return galen::actions::kUsualLifetime;
  return absl::Seconds(request.lifetime().seconds()) +
         absl::Nanoseconds(request.lifetime().nanos());
}

}  // namespace

ActionUpstream::ActionUpstream(Upstream& mesh, galen::actions::ActionBook& book, Executor& executor,
                               const Clock& clock, security::AuditLog* audit)
    : mesh_(mesh), book_(book), executor_(executor), clock_(clock), audit_(audit) {}

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
  record.peer = absl::StrCat("key/", call.asker.id, " (", NameOf(call.asker.role), ")");
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
                           book_.List(diagnosis, now));
    for (const galen::v1::Action& action : actions) *answer->add_actions() = action;
    return answer;
  }
  galen::actions::ActionBook::Decision decision;
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
  GALEN_ASSIGN_OR_RETURN(const galen::v1::Action action, book_.Decide(diagnosis, decision, now));
  return std::make_unique<galen::v1::Action>(action);
}

clients::Cancel ActionUpstream::Ask(Call call, clients::Done<Answer> done) {
  if (!IsOurs(call)) return mesh_.Ask(std::move(call), std::move(done));
  const trace::Work work = trace::Current();
  if (call.method->name() != "ListActions") {
    if (const absl::Status status = MayDecide(call.asker); !status.ok()) {
      Audit(call, status);
      std::move(done)(status);
      return [] {};
    }
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
  return mesh_.Ask(std::move(read), [this, shared, end](absl::StatusOr<Answer> read_answer) {
    if (!read_answer.ok()) return end(read_answer.status());
    // The store may block, which the thread of an answer must not.
    const std::shared_ptr<google::protobuf::Message> diagnosis = *std::move(read_answer);
    const bool taken = executor_.TrySchedule([this, shared, end, diagnosis] {
      const auto* read_diagnosis = dynamic_cast<const galen::v1::Diagnosis*>(diagnosis.get());
      if (read_diagnosis == nullptr) return end(absl::InternalError("no diagnosis came"));
      end(Do(shared->first, *read_diagnosis));
    });
    if (!taken) end(absl::UnavailableError("the gateway is busy; try again"));
  });
}

}  // namespace galen::gateway::actions
