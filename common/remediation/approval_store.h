#ifndef COMMON_REMEDIATION_APPROVAL_STORE_H_
#define COMMON_REMEDIATION_APPROVAL_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/remediation/node_actions.h"
#include "common/remediation/repair_outcome_store.h"
#include "common/store/records.h"
#include "galen/gateway/v1/actions.pb.h"
#include "galen/v1/action_service.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::remediation {

constexpr absl::Duration kUsualLifetime = absl::Minutes(15);
constexpr absl::Duration kMostLifetime = absl::Hours(1);

// Decisions about actions, in the records of the store. Each decision is about one action as it is
// proposed now, and names the etag that its author saw. So a request that is repeated, late, or
// about an action that changed since decides nothing. Thread-safe; errors that are not named here
// are those of store::Records.
class ApprovalStore {
 public:
  // Makes a warrant of an approval (galen.security.v1.SignedWarrant).
  using Sign = std::function<absl::StatusOr<std::string>(const galen::v1::Action& action,
                                                         absl::Time expires)>;

  // `records` must outlive it. `offered`: the actions that Galen carries out here. `nonce` gives a
  // random text; tests have their own. Without `sign` no action on a node can be approved here.
  explicit ApprovalStore(store::Records& records, NodeActions offered = {},
                         std::function<std::string()> nonce = nullptr, Sign sign = nullptr);

  // The actions that the diagnosis proposes, each with its decision; and actions that were decided
  // but are no longer proposed, as WITHDRAWN.
  absl::StatusOr<std::vector<galen::v1::Action>> List(const galen::v1::Diagnosis& diagnosis,
                                                      absl::Time now);

  struct Decision {
    std::string name;  // of the action
    std::string etag;
    std::string by;
    std::string reason;
    absl::Duration lifetime = kUsualLifetime;  // of an approval
    bool approve = false;                      // else: reject
  };
  // NOT_FOUND, ABORTED, FAILED_PRECONDITION as for ActionService; INVALID_ARGUMENT for a lifetime
  // that is not above 0 and at most kMostLifetime, a missing etag, or a reason of more than 1,000
  // bytes. An approval of an action that Galen carries out is due until Finish(), even if the
  // answer was lost.
  absl::StatusOr<galen::v1::Action> Decide(const galen::v1::Diagnosis& diagnosis,
                                           const Decision& decision, absl::Time now);

  // For the program that carries actions out: consumes the approval, exactly once among all
  // callers. `run` names the attempt to carry it out; content_hash is that of the action which will
  // be carried out. PERMISSION_DENIED if it is not approved, not in this form, no longer, or was
  // consumed by another run. The same run may consume it twice, so that it can repeat the call if
  // an answer was lost.
  absl::StatusOr<galen::v1::Action> Consume(const std::string& name,
                                            const std::string& content_hash, const std::string& run,
                                            absl::Time now);

  // The warrant of an action that runs on a node, for the `run` that consumed its approval.
  // PERMISSION_DENIED if another run did, or none.
  absl::StatusOr<std::string> WarrantOf(const std::string& name, const std::string& run);

  // Actions of the store, and the error of unreadable records, which do not block the others.
  struct Entries {
    std::vector<galen::v1::Action> actions;
    absl::Status unreadable;
  };
  // Actions that Galen has to carry out: approved, or consumed by a run that did not finish.
  absl::StatusOr<Entries> Due(absl::Time now);
  struct End {
    bool carried_out = false;  // something was done to the target
    bool succeeded = false;
    std::string text;
  };
  // Records the result of the run that consumed the action: FAILED_PRECONDITION if another run did,
  // or none. Repeating the call is harmless. The result is unacknowledged until Acknowledge().
  absl::Status Finish(const std::string& name, const std::string& run, const End& end);

  // Actions that are SUCCEEDED or FAILED and were not acknowledged by Acknowledge().
  absl::StatusOr<Entries> UnacknowledgedResults();
  // Acknowledges the result of `action` as UnacknowledgedResults() returned it; a later result
  // stays unacknowledged.
  absl::Status Acknowledge(const galen::v1::Action& action);

 private:
  struct StoredDecision {
    gateway::v1::ActionDecision decision;
    std::int64_t version = 0;
  };
  absl::StatusOr<std::optional<StoredDecision>> Get(const std::string& name);
  // Notes the name in a space of names, with a new value each time, so that removing the previous
  // entry fails.
  absl::Status Note(const std::string& space, const std::string& name, const std::string& value);
  // Calls `look` for each name that is noted there, with its record; errors of unreadable records
  // go to `unreadable`.
  absl::Status ForEach(const std::string& space, absl::Status& unreadable,
                       const std::function<absl::Status(const store::Record& entry,
                                                        std::optional<StoredDecision> kept)>& look);

  store::Records& records_;
  RepairOutcomeStore outcomes_;
  const NodeActions offered_;
  const std::function<std::string()> nonce_;
  const Sign sign_;
};

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_APPROVAL_STORE_H_
