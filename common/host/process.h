#ifndef COMMON_HOST_PROCESS_H_
#define COMMON_HOST_PROCESS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/cancellation.h"
#include "common/host/host.h"

namespace galen::host {

// The path of the program `name`: itself if it has a "/", otherwise in the first directory of
// `search_path` (separated by ":") that has an executable one. NOT_FOUND; PERMISSION_DENIED no
// found program may be executed. Blocks as long as the file systems of those directories do.
absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path);

// Finds a program within a time limit.
using ProgramFinder = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Runs `argv` without a shell and waits for it. `find` returns the path of the program. It gets
// only `environment` ("NAME=value"), an empty standard input, no other open file, and a new session
// and process group. All processes that it started are killed when it ends, when its time is up and
// when `cancelled` is cancelled, in any group or session (guard.h). A program killed by signal N
// has exit code 128 + N.
//
// NOT_FOUND the program does not exist; PERMISSION_DENIED it may not be executed; DEADLINE_EXCEEDED
// it did not end in time; CANCELLED; INVALID_ARGUMENT `argv` is empty; RESOURCE_EXHAUSTED no
// process or file can be created, or the program had too many processes; INTERNAL it killed its
// guard; errors of `find`. Thread-safe.
absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const ProgramFinder& find,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits,
                                         const Cancellation& cancelled = Cancellation::Never(),
                                         const OutputSink& on_output = nullptr);
// With FindProgram(), which has no time limit.
absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const std::string& search_path,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits,
                                         const Cancellation& cancelled = Cancellation::Never(),
                                         const OutputSink& on_output = nullptr);

}  // namespace galen::host

#endif  // COMMON_HOST_PROCESS_H_
