#ifndef COMMON_REMEDIATION_REPAIR_OUTCOME_STORE_H_
#define COMMON_REMEDIATION_REPAIR_OUTCOME_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/store/records.h"
#include "galen/gateway/v1/actions.pb.h"
#include "galen/v1/action_service.pb.h"

namespace galen::remediation {

// For each cause and action, this many of the latest outcomes are kept.
inline constexpr int kMostOutcomes = 200;

// The summary of the outcomes that count. Pure.
galen::v1::TrackRecord TrackRecordOf(const gateway::v1::RepairOutcomes& outcomes);

// Outcomes of actions that were carried out, by cause and action, in the records of the store. Each
// names its approval, and a person can revoke each. Thread-safe; errors that are not named here are
// those of store::Records.
class RepairOutcomeStore {
 public:
  // `records` must outlive it.
  explicit RepairOutcomeStore(store::Records& records) : records_(records) {}

  // Stores the outcome of an action that was carried out, is verified by a check
  // (NodeActions::LooksAfter), and is SUCCEEDED or FAILED; ignores any other state. An existing
  // entry stays as it is, struck or not.
  absl::Status Add(const galen::v1::Action& action);
  // For all causes and actions, or for one.
  absl::StatusOr<std::vector<gateway::v1::RepairOutcomes>> List() const;
  absl::StatusOr<gateway::v1::RepairOutcomes> Of(const std::string& label,
                                                 const std::string& run) const;
  // Excludes the latest outcome of the action of that name. NOT_FOUND if there is none;
  // INVALID_ARGUMENT without a person or a reason.
  absl::Status Strike(const std::string& action, const std::string& by, const std::string& why);

 private:
  store::Records& records_;
};

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_REPAIR_OUTCOME_STORE_H_
