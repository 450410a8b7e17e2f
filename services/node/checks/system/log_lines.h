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
  // The closest line at or before this one, of some, that carries a time; "" where there is none,
  // where nobody wants it (log_wants.h), and where every line is given.
  absl::string_view dated;
};

inline constexpr std::size_t kMaxLogLine = 8192;
// Longer texts are of a program that went wild; what is first is what matters.
inline constexpr std::int64_t kMaxLogBytes = std::int64_t{1} << 34;

// Which logs a check reads: those of all nodes, or those of this one and of no particular one.
enum class LogsOf { kAllNodes, kThisNode };

// Whether `writer` names `node`, with or without its domain, or no machine at all. Pure.
bool IsNodeOf(absl::string_view writer, absl::string_view node);

// Whether a log is of `node`, with or without its domain, or of no particular one. Pure.
bool IsLogOf(const host::JobLog& log, absl::string_view node);

// Calls `on_line` for every line of the logs, log by log; constant memory, linear time. A log that
// cannot be read is left out; UNAVAILABLE or NOT_FOUND when none can. Gives the lines read.
absl::StatusOr<std::int64_t> ForEachLogLine(const host::Host& host, LogsOf which,
                                            absl::FunctionRef<void(const LogLine&)> on_line);

// The same, log by log: calls `read`, which gives the lines that it read of a log.
absl::StatusOr<std::int64_t> ForEachLog(
    const host::Host& host, LogsOf which,
    absl::FunctionRef<absl::StatusOr<std::int64_t>(const host::JobLog&)> read);

// Every line of one log.
absl::StatusOr<std::int64_t> ReadLogLines(const host::JobLog& log,
                                          absl::FunctionRef<void(const LogLine&)> on_line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LOG_LINES_H_
