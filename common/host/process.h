#ifndef COMMON_HOST_PROCESS_H_
#define COMMON_HOST_PROCESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/host/host.h"

namespace galen::host {

// What a program may take.
struct ProcessLimits {
  // Wall clock; then the program and all it started are killed.
  absl::Duration time = absl::Seconds(20);
  // Bytes kept of standard output, and as many of standard error. What a program prints beyond is
  // read and dropped, up to eight times as much; then it is killed.
  std::size_t output = std::size_t{8} << 20;
};

// Runs `argv` without a shell and waits for it. The program is found along `search_path`
// (directories separated by ":") unless its name has a "/". It gets `environment` ("NAME=value")
// and nothing else, an empty standard input, no other open file, and a process group of its own;
// whatever of that group still lives when it ends is killed. A program that dies of signal N has
// exit code 128 + N.
//
// NOT_FOUND there is no such program; PERMISSION_DENIED it may not be run; DEADLINE_EXCEEDED it
// did not end in time; INVALID_ARGUMENT `argv` is empty; RESOURCE_EXHAUSTED no process or file can
// be made. Thread-safe.
absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const std::string& search_path,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits);

}  // namespace galen::host

#endif  // COMMON_HOST_PROCESS_H_
