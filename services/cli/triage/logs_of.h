#ifndef SERVICES_CLI_TRIAGE_LOGS_OF_H_
#define SERVICES_CLI_TRIAGE_LOGS_OF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace galen::cli {

// The logs of a job that `paths` name, each once: files as they are named; of a directory the logs
// in it and below it (*.log, *.out, *.err, *.txt, with .gz or .zst too, and files named log, stdout
// and stderr), and the log beside it that is named as it is. Directories of metrics, traces and
// checkpoints are left out. NOT_FOUND names a path that is not there or a directory without a log;
// PERMISSION_DENIED one that cannot be read; RESOURCE_EXHAUSTED: they are more than kMostLogs.
inline constexpr std::size_t kMostLogs = 10'000;
absl::StatusOr<std::vector<std::string>> LogsOf(const std::vector<std::string>& paths);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TRIAGE_LOGS_OF_H_
