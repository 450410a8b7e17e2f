#ifndef COMMON_ACTIONS_OUTCOME_BOOK_H_
#define COMMON_ACTIONS_OUTCOME_BOOK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/store/records.h"
#include "galen/gateway/v1/actions.pb.h"
#include "galen/v1/action_service.pb.h"

namespace galen::actions {

// Of each cause and action the latest so many are remembered.
inline constexpr int kMostOutcomes = 200;

// What counts of them. Pure.
galen::v1::TrackRecord TrackRecordOf(const gateway::v1::RepairOutcomes& outcomes);

// What came of the actions that were carried out, by cause and action, in the records of the store:
// each with the approval that it comes from, and each can be taken back by a person. Thread-safe;
// errors beside those named: as of store::Records.
class OutcomeBook {
 public:
  // `records` must outlive it.
  explicit OutcomeBook(store::Records& records) : records_(records) {}

  // Remembers what came of an action that was carried out, after which a check looked
  // (NodeActions::LooksAfter), and which is SUCCEEDED or FAILED; of any other state nothing. What
  // is there already stays as it is, struck or not.
  absl::Status Add(const galen::v1::Action& action);
  // Of all causes and actions, or of one.
  absl::StatusOr<std::vector<gateway::v1::RepairOutcomes>> List() const;
  absl::StatusOr<gateway::v1::RepairOutcomes> Of(const std::string& label,
                                                 const std::string& run) const;
  // The latest outcome of the action of that name no longer counts. NOT_FOUND there is none;
  // INVALID_ARGUMENT nobody says who he is, or why.
  absl::Status Strike(const std::string& action, const std::string& by, const std::string& why);

 private:
  store::Records& records_;
};

}  // namespace galen::actions

#endif  // COMMON_ACTIONS_OUTCOME_BOOK_H_
