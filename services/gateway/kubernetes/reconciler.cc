#include "services/gateway/kubernetes/reconciler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/gateway/api/access.h"
#include "services/gateway/kubernetes/diagnosis_object.h"

namespace galen::gateway::kubernetes {
namespace {

using kube::Json;

constexpr absl::Duration kCall = absl::Seconds(20);
constexpr absl::Duration kTenantKept = absl::Minutes(1);
constexpr std::size_t kMostTenantsKept = 10'000;

const kube::Resource kNamespaces{"", "v1", "namespaces"};
const kube::Resource kPods{"", "v1", "pods"};

// Errors that a retry would not change.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

std::string NameOf(const Json& object, const std::string& tenant) {
  return absl::StrCat("tenants/", tenant, "/diagnoses/", DiagnosisIdOf(object));
}

}  // namespace

absl::StatusOr<std::string> Reconciler::TenantOf(const std::string& space,
                                                 const Cancellation& cancellation) {
  const absl::Time now = dependencies_.clock.Now();
  {
    const MutexLock lock(mu_);
    const auto known = tenants_.find(space);
    if (known != tenants_.end() && known->second.until > now) return known->second.tenant;
  }
  GALEN_ASSIGN_OR_RETURN(const Json object, dependencies_.client.Get(
                                                kNamespaces, {"", space},
                                                {.timeout = kCall, .cancellation = &cancellation}));
  std::string tenant = TextAt(object, {"metadata", "labels", kTenantLabel});
  if (tenant.empty()) tenant = options_.default_tenant;
  // An invalid name counts as a missing one; a person must fix it.
  if (!IsTenant(tenant)) tenant = "";
  const MutexLock lock(mu_);
  if (tenants_.size() >= kMostTenantsKept) tenants_.clear();
  // A missing tenant is read again, since somebody will add it.
  if (!tenant.empty()) tenants_[space] = {tenant, now + kTenantKept};
  return tenant;
}

Reconciler::Outcome Reconciler::Write(const Json& object, const Json& status, Outcome outcome,
                                      const Cancellation& cancellation) {
  const std::optional<Json> content = PatchTo(object, status);
  if (!content.has_value()) return outcome;
  kube::Patch patch;
  patch.content = *content;
  patch.subresource = "status";
  absl::StatusOr<Json> written = dependencies_.client.Apply(
      Diagnoses(),
      {TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})}, patch,
      {.timeout = kCall, .cancellation = &cancellation});
  if (written.ok()) {
    outcome.object = *std::move(written);
  } else if (absl::IsNotFound(written.status())) {
    outcome.done = true;
  } else {
    outcome.done = false;
    // Another client wrote: the watch delivers the change, and the step is repeated.
    if (!absl::IsAborted(written.status())) outcome.problem = written.status();
    outcome.wait = options_.first_look;
  }
  return outcome;
}

Reconciler::Outcome Reconciler::Waits(const Json& object, const char* reason,
                                      const absl::Status& problem,
                                      const Cancellation& cancellation) {
  Outcome outcome;
  outcome.problem = problem;
  outcome.wait = RetryAfter(problem).value_or(options_.first_look);
  return Write(object, StatusWaiting(object, reason, problem.message(), dependencies_.clock.Now()),
               std::move(outcome), cancellation);
}

Reconciler::Outcome Reconciler::Report(const Json& object, const std::string& tenant,
                                       galen::v1::Diagnosis diagnosis,
                                       const Cancellation& cancellation) {
  dependencies_.redact(tenant, diagnosis);
  const absl::Time now = dependencies_.clock.Now();
  const Json status = StatusOf(object, diagnosis, now);
  Outcome outcome;
  outcome.done = IsOver({{"status", status}});
  // A diagnosis that has not changed for long is read less often.
  const absl::Duration still = now - absl::FromUnixSeconds(diagnosis.update_time().seconds());
  outcome.wait = std::clamp(still / 10, options_.first_look, options_.longest_look);
  return Write(object, status, std::move(outcome), cancellation);
}

absl::StatusOr<std::vector<PodContext>> Reconciler::PodsOf(const std::string& space,
                                                           const std::string& job,
                                                           const Cancellation& cancellation) {
  std::vector<PodContext> pods;
  for (const std::string& selector : SelectorsOf(job, dependencies_.jobs)) {
    GALEN_ASSIGN_OR_RETURN(
        const kube::Listing listing,
        dependencies_.client.List({kPods, space, selector, ""},
                                  {.timeout = kCall, .cancellation = &cancellation}));
    for (const Json& pod : listing.items) {
      std::optional<PodContext> context = ContextOf(pod, dependencies_.jobs);
      if (context.has_value()) pods.push_back(*std::move(context));
    }
    // The entries of the knowledge are in the order of their precedence.
    if (!pods.empty()) break;
  }
  return pods;
}

Reconciler::Outcome Reconciler::Create(const Json& object, const std::string& tenant,
                                       const Cancellation& cancellation) {
  const auto refuse = [&](const char* reason, absl::string_view message) {
    return Write(object, StatusRefused(object, reason, message, dependencies_.clock.Now()),
                 {.done = true}, cancellation);
  };
  absl::StatusOr<galen::v1::CreateDiagnosisRequest> request = RequestOf(object, tenant);
  if (!request.ok()) return refuse("InvalidIncident", request.status().message());
  const std::string job = TextAt(object, {"spec", "job"});
  if (!job.empty()) {
    galen::v1::Incident& incident = *request->mutable_diagnosis()->mutable_incident();
    const auto pods = PodsOf(TextAt(object, {"metadata", "namespace"}), job, cancellation);
    if (!pods.ok()) return Waits(object, "PodsNotReadable", pods.status(), cancellation);
    FillIn(*pods, incident);
    if (incident.nodes().empty()) {
      return refuse("JobNotFound",
                    absl::StrCat("no pod of job ", CleanText(job, 253),
                                 " runs on a node; name the nodes, and make another object"));
    }
  }
  const absl::StatusOr<galen::v1::Diagnosis> created = dependencies_.mesh.Create(*request);
  if (created.ok()) return Report(object, tenant, *created, cancellation);
  if (IsFinal(created.status())) return refuse("InvalidIncident", created.status().message());
  return Waits(object, absl::IsResourceExhausted(created.status()) ? "Limited" : "Unavailable",
               created.status(), cancellation);
}

Reconciler::Outcome Reconciler::Step(const Json& object, const Cancellation& cancellation) {
  Outcome outcome;
  if (IsOver(object)) {
    outcome.done = true;
    return outcome;
  }
  const std::string space = TextAt(object, {"metadata", "namespace"});
  const absl::StatusOr<std::string> tenant = TenantOf(space, cancellation);
  if (!tenant.ok()) {
    outcome.problem = tenant.status();
    outcome.wait = options_.first_look;
    return outcome;
  }
  if (tenant->empty()) {
    outcome.wait = options_.mend_look;
    return Write(object,
                 StatusWaiting(object, "NoTenant",
                               absl::StrCat("namespace ", space, " belongs to no tenant: label it ",
                                            kTenantLabel, "=TENANT"),
                               dependencies_.clock.Now()),
                 std::move(outcome), cancellation);
  }
  // The status is not trusted: the name follows from the object alone.
  if (!DiagnosisOf(object).empty()) {
    absl::StatusOr<galen::v1::Diagnosis> diagnosis =
        dependencies_.mesh.Get(NameOf(object, *tenant));
    if (diagnosis.ok()) return Report(object, *tenant, *std::move(diagnosis), cancellation);
    if (!absl::IsNotFound(diagnosis.status())) {
      outcome.problem = diagnosis.status();
      outcome.wait = RetryAfter(diagnosis.status()).value_or(options_.first_look);
      return outcome;
    }
  }
  return Create(object, *tenant, cancellation);
}

Reconciler::Outcome Reconciler::Deleted(const Json& object, const Cancellation& cancellation) {
  Outcome outcome;
  outcome.done = true;
  if (!options_.cancel_deleted || IsOver(object) || DiagnosisIdOf(object).empty()) return outcome;
  const auto tenant = TenantOf(TextAt(object, {"metadata", "namespace"}), cancellation);
  // (The namespace was deleted with its objects, so their tenant is unknown.)
  if (absl::IsNotFound(tenant.status())) return outcome;
  absl::Status status = tenant.status();
  if (tenant.ok() && !tenant->empty()) {
    status = dependencies_.mesh.Cancel(NameOf(object, *tenant), "its object was deleted");
    // There is no diagnosis, or it is over.
    if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) status = absl::OkStatus();
  }
  outcome.done = status.ok();
  outcome.problem = status;
  outcome.wait = options_.first_look;
  return outcome;
}

}  // namespace galen::gateway::kubernetes
