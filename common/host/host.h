#ifndef COMMON_HOST_HOST_H_
#define COMMON_HOST_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/cancellation.h"

namespace galen::host {

// The view of the machine itself, or that of the job's container or process.
enum class View { kHost, kJob };

// Maximum bytes read from a file: a content of this size may be truncated.
inline constexpr std::size_t kFileBytes = std::size_t{8} << 20;

// Result of a program.
struct CommandResult {
  int exit_code = 0;
  std::string out;  // raw bytes, at most the host's limit
  std::string err;
  bool truncated = false;  // the output was longer than the limit
  bool excerpt = false;    // a part of the output, so absence in it proves nothing
  absl::Duration duration;
};

// Resource limits of a program.
struct ProcessLimits {
  // Wall clock, including the search for it; then the program and all its processes are killed.
  absl::Duration time = absl::Seconds(20);
  // Bytes kept of standard output, and as many of standard error. Output beyond this is read and
  // dropped, up to eight times as much; then the program is killed.
  std::size_t output = std::size_t{8} << 20;
  // Address space of each of its processes, in bytes; 0: no limit. Allocations beyond it fail.
  std::int64_t memory = 0;
  // Maximum number of simultaneous processes; with more it is killed. 0: no limit.
  int processes = 0;
};

// Receives standard output as it arrives, in pieces of any size, on the calling thread.
using OutputSink = std::function<void(absl::string_view piece)>;

// Size of a mounted file system.
struct Space {
  std::string type;  // "tmpfs"
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // for a user without privileges
};

// A log that belongs to the incident.
struct JobLog {
  std::string name;  // as the incident names it: "train.log"
  std::string path;  // absolute, to be opened by log_scan::LogReader
  std::string node;  // the machine that wrote it; empty: unknown, or several machines
  std::optional<int> rank;
  std::string kind;  // "job", "system", "scheduler"; empty: unknown
};

// The only access to a machine: a live one, or one captured in a bundle.
//
// Errors have the same meaning in every method:
//   NOT_FOUND          known to be absent: program not installed, file does not exist
//   UNAVAILABLE        not captured in the bundle: unknown
//   PERMISSION_DENIED  it exists, but this process may not read it
//   DEADLINE_EXCEEDED  it did not answer in time (a finding in itself)
// A check turns the first three into SKIPPED and the fourth into ERROR.
//
// Thread-safe. One host serves one run of checks: results of Run() are kept, so that checks with
// the same command share one result.
class Host {
 public:
  virtual ~Host() = default;

  // Name of the machine.
  virtual const std::string& name() const = 0;

  // True: this is the machine that the process runs on.
  virtual bool live() const = 0;

  // Runs `argv` (no shell) and waits for it.
  virtual absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv,
                                            View view = View::kHost) const = 0;

  // As Run() on the machine itself, but with separate limits, and without reuse of results: for
  // programs that take long or that a site wrote. Its processes are killed when `cancelled` is
  // cancelled, and none is left when this returns. Errors in addition to those above: CANCELLED,
  // and RESOURCE_EXHAUSTED: too many processes. A bundle returns the captured result of that argv.
  virtual absl::StatusOr<CommandResult> RunWithin(absl::Span<const std::string> argv,
                                                  const ProcessLimits& limits,
                                                  const Cancellation& cancelled,
                                                  const OutputSink& on_output) const {
    static_cast<void>(limits);
    static_cast<void>(cancelled);
    static_cast<void>(on_output);
    return Run(argv, View::kHost);
  }

  // The content of a file, at most kFileBytes. `path` is absolute.
  virtual absl::StatusOr<std::string> ReadFile(absl::string_view path,
                                               View view = View::kHost) const = 0;

  // Paths that match a glob(7) pattern, sorted; `*` matches within one path component. NOT_FOUND:
  // nothing matches and the parent is known; UNAVAILABLE: nothing was captured there.
  virtual absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                        View view = View::kHost) const = 0;

  // The file system that is mounted at `target`, an absolute path. NOT_FOUND: none is mounted
  // there. UNAVAILABLE: only the output of `df` has it, as in a bundle.
  virtual absl::StatusOr<Space> SpaceAt(absl::string_view target, View view = View::kHost) const {
    static_cast<void>(target);
    static_cast<void>(view);
    return absl::UnavailableError("only df reports the size of a file system here");
  }

  // The environment of the job; UNAVAILABLE: unknown.
  virtual absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const = 0;

  // The available logs of the job, of every node and rank; never empty. UNAVAILABLE: there is none
  // (docs/decisions/006).
  virtual absl::StatusOr<std::vector<JobLog>> JobLogs() const {
    return absl::UnavailableError("no log of the job is known");
  }

  // The captured commands that begin with `prefix`, for commands with arguments that only the
  // capture knew ("sacct -j <job> -P"). Empty for a live host, which runs any command.
  virtual std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                         View view = View::kHost) const {
    static_cast<void>(prefix);
    static_cast<void>(view);
    return {};
  }
};

}  // namespace galen::host

#endif  // COMMON_HOST_HOST_H_
