#ifndef SERVICES_CLI_ADVISOR_RUNS_FILE_H_
#define SERVICES_CLI_ADVISOR_RUNS_FILE_H_

#include <cstdint>
#include <istream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/advisor/v1/advisor.pb.h"

namespace galen::cli {

// Limits of one call, as the service accepts them; the byte limit keeps the message small enough.
inline constexpr int kMostRunsOfACall = 1000;
inline constexpr std::size_t kMostBytesOfACall = 2 << 20;
inline constexpr std::size_t kMostBytesOfALine = 1 << 20;

struct ReportedRuns {
  std::int64_t runs = 0;
  std::int64_t calls = 0;
  std::int64_t lines = 0;     // of the file, up to which all was taken
  std::int64_t position = 0;  // of the last call's record in the journal
};

// Reports the runs of `in`, a Run as JSON on each line (empty lines are ignored), from line `first`
// (1: all) on, in order, at most `batch` in a call. `reported` counts the accepted runs, also after
// an error. INVALID_ARGUMENT "file:line: what": a line that is not a Run, or that the service
// refuses; otherwise the error of the call. Each error says from which line to continue.
absl::Status ReportRunsOf(std::istream& in, absl::string_view file, std::int64_t first, int batch,
                          absl::FunctionRef<absl::StatusOr<advisor::v1::ReportRunsResponse>(
                              const advisor::v1::ReportRunsRequest&)>
                              call,
                          ReportedRuns& reported);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_RUNS_FILE_H_
