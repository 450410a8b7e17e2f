#ifndef COMMON_LOG_SOURCES_LABELS_H_
#define COMMON_LOG_SOURCES_LABELS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::log_sources {

// The names of labels and fields that tell the machine, the log and the message of a line:
// knowledge/telemetry/logs.yaml. The first one that a line has counts.
struct LabelNames {
  std::vector<std::string> node;
  std::vector<std::string> name;
  std::vector<std::string> part;
  std::vector<std::string> message;
};

absl::StatusOr<LabelNames> ParseLabelNames(absl::string_view text, absl::string_view file);

// Those of the knowledge's directories; the names of a later directory come before the others.
absl::StatusOr<LabelNames> LoadLabelNames(const std::vector<std::string>& directories);

// The value of a label of a line; "": it has none.
using LabelOf = std::function<std::string(const std::string& label)>;

// The first of `names` with a value; "" without any.
std::string FirstOf(const std::vector<std::string>& names, const LabelOf& label);

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_LABELS_H_
