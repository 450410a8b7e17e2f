#include "services/orchestrator/retention.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/names.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::orchestrator {
namespace {

constexpr int kPage = 256;
constexpr absl::Duration kLeastKeep = absl::Hours(1);
// Diagnoses whose next look is remembered; each pass examines the others.
constexpr std::size_t kMostRemembered = 100'000;
// The pause before a diagnosis that waits, or cannot be read, is examined again.
constexpr absl::Duration kLookAgain = absl::Hours(24);

std::optional<absl::Duration> ParseKeep(absl::string_view text) {
  if (text == "forever") return absl::InfiniteDuration();
  absl::Duration unit;
  if (absl::ConsumeSuffix(&text, "d")) {
    unit = absl::Hours(24);
  } else if (absl::ConsumeSuffix(&text, "h")) {
    unit = absl::Hours(1);
  } else {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const bool digits = text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!digits || text.size() > 6 || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return unit * number;
}

absl::string_view TenantOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "tenants/");
  return name.substr(0, name.find('/'));
}

// Handed over to a person, or waiting for an answer.
bool WaitsForPerson(const State& state) {
  return state.lifecycle == v1::Diagnosis::AWAITING_FEEDBACK ||
         state.lifecycle == v1::Diagnosis::ESCALATED;
}

}  // namespace

bool RetentionPolicy::IsOff() const {
  return keep == absl::InfiniteDuration() &&
         std::all_of(tenants.begin(), tenants.end(),
                     [](const auto& tenant) { return tenant.second == absl::InfiniteDuration(); });
}

absl::Duration RetentionPolicy::KeepFor(absl::string_view tenant) const {
  const auto it = tenants.find(tenant);
  return it == tenants.end() ? keep : it->second;
}

absl::StatusOr<RetentionPolicy> ParseRetention(const std::vector<std::string>& entries) {
  RetentionPolicy policy;
  bool has_default = false;
  for (const std::string& entry : entries) {
    if (entry.empty()) continue;
    const auto refuse = [&entry](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", CleanText(entry, 100), "\": ", why,
                       "; give a time such as 90d or 36h, or TENANT=TIME, or TENANT=forever"));
    };
    const std::size_t equals = entry.find('=');
    const absl::string_view text(entry);
    const std::optional<absl::Duration> keep =
        ParseKeep(equals == std::string::npos ? text : text.substr(equals + 1));
    if (!keep.has_value()) return refuse("is not a time");
    if (*keep < kLeastKeep) return refuse("is less than an hour");
    if (equals == std::string::npos) {
      if (std::exchange(has_default, true)) return refuse("is a second time for all tenants");
      policy.keep = *keep;
      continue;
    }
    if (!IsSegment(text.substr(0, equals))) return refuse("is not the name of a tenant");
    if (!policy.tenants.emplace(text.substr(0, equals), *keep).second) {
      return refuse("names this tenant again");
    }
  }
  return policy;
}

absl::Status DeleteDiagnosis(store::EventLog& log, const std::string& name,
                             const std::string& owner, absl::Time now, absl::Duration ttl,
                             MayDelete may) {
  absl::StatusOr<store::Lease> lease = log.AcquireLease(name, owner, now, ttl);
  if (absl::IsNotFound(lease.status())) {
    GALEN_RETURN_IF_ERROR(log.FinishDeletion(name));
  }
  GALEN_RETURN_IF_ERROR(lease.status());
  const absl::StatusOr<State> state = LoadState(log, name);
  absl::Status status = state.status();
  if (status.ok()) status = may(*state);
  if (status.ok()) status = log.Delete(*lease, state->last_sequence, now);
  if (!status.ok()) log.ReleaseLease(*lease).IgnoreError();
  return status;
}

Retention::Retention(store::EventLog& log, const Clock& clock, RetentionPolicy policy,
                     Delete delete_one)
    : log_(log), clock_(clock), policy_(std::move(policy)), delete_one_(std::move(delete_one)) {}

absl::StatusOr<Retention::Pass> Retention::Run(std::int64_t most) {
  Pass pass;
  for (const auto& [tenant, keep] : policy_.tenants) {
    if (keep == absl::InfiniteDuration()) continue;
    GALEN_RETURN_IF_ERROR(Sweep(absl::StrCat("tenants/", tenant), keep, most, pass));
  }
  if (policy_.keep != absl::InfiniteDuration()) {
    GALEN_RETURN_IF_ERROR(Sweep("", policy_.keep, most, pass));
  }
  return pass;
}

absl::Status Retention::Sweep(const std::string& parent, absl::Duration keep, std::int64_t most,
                              Pass& pass) {
  std::int64_t position = 0;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const store::EventLog::Oldest oldest,
                           log_.ListOldest(parent, position, kPage));
    for (const std::string& name : oldest.names) {
      if (parent.empty() && policy_.tenants.count(TenantOf(name)) > 0) continue;
      if (const auto it = not_before_.find(name); it != not_before_.end()) {
        if (clock_.Now() < it->second) continue;
        not_before_.erase(it);
      }
      if (pass.deleted >= most) {
        pass.more = true;
        return absl::OkStatus();
      }
      GALEN_ASSIGN_OR_RETURN(const bool old, Look(name, keep, pass));
      if (!old) return absl::OkStatus();
    }
    if (!oldest.more) return absl::OkStatus();
    position = oldest.position;
  }
}

absl::StatusOr<bool> Retention::Look(const std::string& name, absl::Duration keep, Pass& pass) {
  const absl::Time now = clock_.Now();
  const auto unreadable = [&](const absl::Status& problem) {
    pass.problem = problem;
    LookAgainAt(name, now + kLookAgain);
    return true;
  };
  const absl::StatusOr<std::vector<v1::DiagnosisEvent>> created = log_.Read(name, 0, 1);
  if (absl::IsNotFound(created.status())) {
    // Its deletion was interrupted, or its creation never came to an end.
    GALEN_RETURN_IF_ERROR(log_.FinishDeletion(name));
    LookAgainAt(name, now + kLookAgain);
    return true;
  }
  if (absl::IsDataLoss(created.status())) return unreadable(created.status());
  GALEN_RETURN_IF_ERROR(created.status());
  if (!created->empty() && ToTime(created->front().event_time()) + keep > now) return false;
  std::optional<absl::Time> again;
  const absl::Status status = delete_one_(name, [&](const State& state) -> absl::Status {
    const absl::Time due = ToTime(state.update_time) + keep;
    if (due > now) {
      again = due;
      return absl::FailedPreconditionError(absl::StrCat(name, ": is younger than its retention"));
    }
    const bool waits = WaitsForPerson(state);
    if (IsInactive(state) && (!waits || policy_.waiting)) return absl::OkStatus();
    again = now + kLookAgain;
    if (waits) ++pass.kept_waiting;
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": is ", v1::Diagnosis::State_Name(state.lifecycle)));
  });
  if (status.ok()) {
    ++pass.deleted;
    return true;
  }
  if (absl::IsDataLoss(status)) return unreadable(status);
  if (again.has_value()) LookAgainAt(name, *again);
  // It runs elsewhere, an event came meanwhile, or somebody else was faster.
  if (!absl::IsFailedPrecondition(status) && !absl::IsAborted(status) &&
      !absl::IsNotFound(status)) {
    return status;
  }
  return true;
}

void Retention::LookAgainAt(const std::string& name, absl::Time when) {
  if (not_before_.size() >= kMostRemembered) not_before_.clear();
  not_before_[name] = when;
}

}  // namespace galen::orchestrator
