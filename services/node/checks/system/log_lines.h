#ifndef SERVICES_NODE_CHECKS_SYSTEM_LOG_LINES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_LOG_LINES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// A line of a log of the job.
struct LogLine {
  const host::JobLog* log = nullptr;
  std::int64_t number = 0;  // 1 and up
  absl::string_view text;   // without its end, at most kMaxLogLine bytes, no terminal escapes
};

inline constexpr std::size_t kMaxLogLine = 8192;

// Which logs a check reads: those of all nodes, or those of this one and of no particular one.
enum class LogsOf { kAllNodes, kThisNode };

// Calls `on_line` for every line of the logs, log by log; constant memory, linear time. A log that
// cannot be read is left out; UNAVAILABLE or NOT_FOUND when none can. Gives the lines read.
absl::StatusOr<std::int64_t> ForEachLogLine(const host::Host& host, LogsOf which,
                                            absl::FunctionRef<void(const LogLine&)> on_line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LOG_LINES_H_
