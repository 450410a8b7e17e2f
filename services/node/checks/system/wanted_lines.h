#ifndef SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_lines.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The logs of a bundle are read once for all checks and all nodes: the first check that asks finds
// the lines that any of CheckContext::log_wants names, in one scan, and what it found is kept as
// long as the files stay as they are, for the last few sets of logs. Constant memory, linear time.
//
// A live machine's logs grow while they are read, so a check there reads for itself alone.

// Calls `on_line` for the lines of `want` in the logs, log by log: for all that match, and for some
// that do not. Returns the number of lines in the logs; errors as ForEachLogLine(). Calls `on_log`
// for each log that was read, before its lines, with the number of its lines.
absl::StatusOr<std::int64_t> ForEachWantedLine(
    const CheckContext& context, LogsOf which, const LogWant& want,
    absl::FunctionRef<void(const LogLine&)> on_line,
    absl::FunctionRef<void(const host::JobLog&, std::int64_t)> on_log = [](const host::JobLog&,
                                                                           std::int64_t) {});

// The fold of `want` over the logs of all nodes.
struct FoldedLogs {
  std::shared_ptr<const LogFold> fold;
  std::int64_t lines = 0;  // that the logs have
};

// Reads the logs for all of CheckContext::log_wants now, so that no check has to wait for it later.
// The checks report the errors.
void ReadLogsAhead(const CheckContext& context);

// Errors as ForEachLogLine().
absl::StatusOr<FoldedLogs> FoldLogs(const CheckContext& context, const LogWant& want);

// The fold as what it is. `T` is what `want.fold` makes.
template <typename T>
std::shared_ptr<const T> FoldAs(const FoldedLogs& folded) {
  return std::static_pointer_cast<const T>(folded.fold);
}

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_WANTED_LINES_H_
