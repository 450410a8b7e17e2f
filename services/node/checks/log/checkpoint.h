#ifndef SERVICES_NODE_CHECKS_LOG_CHECKPOINT_H_
#define SERVICES_NODE_CHECKS_LOG_CHECKPOINT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The keys that a message of load_state_dict lists, "Missing key(s) in state_dict: "a", "b"."; at
// most 10,000. Pure.
std::vector<std::string> QuotedKeys(absl::string_view line);

// A row of a table of parameter norms before saving and after loading: "name 61.2 64.0". Nothing
// for another line. Pure.
struct NormRow {
  double before = 0;
  double after = 0;
};
std::optional<NormRow> ParseNormRow(absl::string_view line);

// job.checkpoint. Reads headers and ends of files only, never their tensors.
extern const LogWant kCheckpointWant;
absl::StatusOr<CheckOutput> CheckCheckpoint(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_CHECKPOINT_H_
