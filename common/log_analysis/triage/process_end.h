#ifndef COMMON_LOG_ANALYSIS_TRIAGE_PROCESS_END_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_PROCESS_END_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::triage {

// How a process ended, as a launcher reports it.
struct ExitReport {
  std::optional<int> rank;
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// The exit report in a line of torchrun, srun, mpirun or a shell; nothing if there is none. Exit
// codes of 128 and more are a shell's way to report a signal. Pure.
std::optional<ExitReport> FindExit(absl::string_view line);

// A collective that the watchdog of PyTorch aborted.
struct WatchdogTimeout {
  std::optional<int> rank;
  std::string group;  // "": the release does not print it
  std::int64_t sequence = -1;
  std::string op;  // "ALLREDUCE"
  std::int64_t numel_in = -1;
  std::int64_t timeout_ms = 0;
  std::int64_t ran_ms = 0;
};

// Pure.
std::optional<WatchdogTimeout> FindWatchdogTimeout(absl::string_view line);

// Expressions: a line that matches none of them contains neither.
std::vector<std::string> ProcessEndExpressions();

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_PROCESS_END_H_
