#ifndef SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/host/host.h"
#include "services/node/checks/system/log_lines.h"

namespace galen::node {

// Calls `on_line` for the lines of the logs that may match one of `expressions` (RE2): for all that
// do, and for some that do not. As ForEachLogLine() otherwise, but at the pace of memory, since the
// other lines are skipped unread; and what one node's check was given is remembered for the next
// node of the same incident, as long as the file stays as it is and the lines are few.
// An expression that gives no text to look for has every line read.
absl::StatusOr<std::int64_t> ForEachWantedLine(const host::Host& host, LogsOf which,
                                               absl::Span<const std::string> expressions,
                                               absl::FunctionRef<void(const LogLine&)> on_line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_
