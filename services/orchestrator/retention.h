#ifndef SERVICES_ORCHESTRATOR_RETENTION_H_
#define SERVICES_ORCHESTRATOR_RETENTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/event_log.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/load_state.h"

namespace galen::orchestrator {

// How long diagnoses are kept after their last event; InfiniteDuration: for ever.
struct RetentionPolicy {
  absl::Duration keep = absl::InfiniteDuration();  // of tenants without a time of their own
  std::map<std::string, absl::Duration, std::less<>> tenants;  // "acme"
  // Also deletes diagnoses that wait for a person: for an answer, or after an escalation.
  bool waiting = false;

  // Nothing is ever deleted.
  bool IsOff() const;
  // The time of this tenant ("acme").
  absl::Duration KeepFor(absl::string_view tenant) const;
};

// Entries "90d" (all tenants) and "acme=30d" (one tenant); also "36h", and "forever". None: nothing
// is deleted. INVALID_ARGUMENT: an entry that is none of these or is repeated, a time of less than
// an hour.
absl::StatusOr<RetentionPolicy> ParseRetention(const std::vector<std::string>& entries);

// Permits the deletion of a diagnosis, or tells why it must stay.
using MayDelete = absl::FunctionRef<absl::Status(const State&)>;

// Deletes a diagnosis if nobody else runs it and `may` permits it, under a lease of `owner`. The
// error of `may`; NOT_FOUND, FAILED_PRECONDITION another owner holds the lease, ABORTED an event
// came meanwhile; those of the store. An interrupted deletion is completed by the next call.
absl::Status DeleteDiagnosis(store::EventLog& log, const std::string& name,
                             const std::string& owner, absl::Time now, absl::Duration ttl,
                             MayDelete may);

// Deletes what is older than its policy allows, the oldest first. It may be interrupted at any
// time: the next pass continues. Several may work on one store; leases keep them apart. Not
// thread-safe.
class Retention {
 public:
  // Deletes one diagnosis, as DeleteDiagnosis().
  using Delete = std::function<absl::Status(const std::string& name, MayDelete may)>;

  // `log` and `clock` must outlive it. `delete_one` may also only ask `may`, for a trial.
  Retention(store::EventLog& log, const Clock& clock, RetentionPolicy policy, Delete delete_one);

  struct Pass {
    std::int64_t deleted = 0;
    std::int64_t kept_waiting = 0;  // old enough, but waiting for a person
    bool more = false;              // it ended at `most`
    // A log that cannot be read is left alone; the last such problem.
    absl::Status problem;
  };
  // Deletes at most `most` diagnoses. The error is the store's.
  absl::StatusOr<Pass> Run(std::int64_t most);

 private:
  absl::Status Sweep(const std::string& parent, absl::Duration keep, std::int64_t most, Pass& pass);
  // Looks at one diagnosis; false when it is younger than `keep`, as are all that follow.
  absl::StatusOr<bool> Look(const std::string& name, absl::Duration keep, Pass& pass);
  void LookAgainAt(const std::string& name, absl::Time when);

  store::EventLog& log_;
  const Clock& clock_;
  const RetentionPolicy policy_;
  const Delete delete_one_;
  std::map<std::string, absl::Time, std::less<>> not_before_;  // of those that stay for now
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RETENTION_H_
