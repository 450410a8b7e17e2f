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

// The path of the program `name`: itself when it has a "/", else in the first directory of
// `search_path` (separated by ":") that has one which may be run. NOT_FOUND; PERMISSION_DENIED
// there are only such as may not be run. Takes as long as the file systems of those directories.
absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path);

// What finds a program where that is to have a limit.
using ProgramFinder = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Runs `argv` without a shell and waits for it. The program is what `find` says of its name. It
// gets `environment` ("NAME=value") and nothing else, an empty standard input, no other open file,
// and a session and process group of its own. Whatever it started and left behind is killed when it
// ends, when its time is up and when `cancelled` is, wherever it went (guard.h). A program that
// dies of signal N has exit code 128 + N.
//
// NOT_FOUND there is no such program; PERMISSION_DENIED it may not be run; DEADLINE_EXCEEDED it
// did not end in time; CANCELLED; INVALID_ARGUMENT `argv` is empty; RESOURCE_EXHAUSTED no process
// or file can be made, or the program had more processes than it may; INTERNAL it killed its guard;
// what `find` says. Thread-safe.
absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const ProgramFinder& find,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits,
                                         const Cancellation& cancelled = Cancellation::Never(),
                                         const OutputSink& on_output = nullptr);
// With FindProgram(), whose time no limit bounds.
absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const std::string& search_path,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits,
                                         const Cancellation& cancelled = Cancellation::Never(),
                                         const OutputSink& on_output = nullptr);

}  // namespace galen::host

#endif  // COMMON_HOST_PROCESS_H_
