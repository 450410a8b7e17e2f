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

// Whose eyes: the machine's own, or those of the job's container or process.
enum class View { kHost, kJob };

// What is read of a file at most, in bytes: of a content of that size more may follow.
inline constexpr std::size_t kFileBytes = std::size_t{8} << 20;

// What a program printed.
struct CommandResult {
  int exit_code = 0;
  std::string out;  // raw bytes, at most the host's limit
  std::string err;
  bool truncated = false;  // output went on past the limit
  bool excerpt = false;    // a part of the output: what is missing from it says nothing
  absl::Duration duration;
};

// What a program may take.
struct ProcessLimits {
  // Wall clock, with the search for it; then the program and all it started are killed.
  absl::Duration time = absl::Seconds(20);
  // Bytes kept of standard output, and as many of standard error. What a program prints beyond is
  // read and dropped, up to eight times as much; then it is killed.
  std::size_t output = std::size_t{8} << 20;
  // Address space of each of its processes, in bytes; 0: no limit. Beyond it an allocation fails.
  std::int64_t memory = 0;
  // Processes that it may have at a time; with more it is killed. 0: no limit.
  int processes = 0;
};

// Takes standard output as it comes, in pieces of any size, on the thread that asked for it.
using OutputSink = std::function<void(absl::string_view piece)>;

// How large a mounted file system is.
struct Space {
  std::string type;  // "tmpfs"
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // for a user without privileges
};

// A log that belongs to the incident.
struct JobLog {
  std::string name;  // as the incident names it: "train.log"
  std::string path;  // absolute, to be opened by log_scan::LogReader
  std::string node;  // the machine that wrote it; empty: not known, or several did
  std::optional<int> rank;
  std::string kind;  // "job", "system", "scheduler"; empty: not known
};

// The only way to touch a machine: a live one or one captured in a bundle.
//
// Errors of every method mean the same everywhere:
//   NOT_FOUND          known to be absent: program not installed, file does not exist
//   UNAVAILABLE        not captured in the bundle: nothing is known of it
//   PERMISSION_DENIED  there, but this process may not read it
//   DEADLINE_EXCEEDED  it did not answer in time (a finding in itself)
// A check turns the first three into SKIPPED and the fourth into ERROR.
//
// Thread-safe. One host serves one run of checks: results of Run() are kept, so that checks that
// read the same command share one capture.
class Host {
 public:
  virtual ~Host() = default;

  // Name of the machine.
  virtual const std::string& name() const = 0;

  // True when this is the machine the process runs on.
  virtual bool live() const = 0;

  // Runs `argv` (no shell) and waits for it.
  virtual absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv,
                                            View view = View::kHost) const = 0;

  // As Run() on the machine itself, but within limits of its own, and anew each time: for programs
  // that take long or that a site wrote. What it began is killed when `cancelled` is, and nothing
  // of it is left when this returns. Beside the errors above: CANCELLED, and RESOURCE_EXHAUSTED
  // when it had more processes than it may. A bundle gives what was captured of that argv.
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

  // Paths that match a glob(7) pattern, sorted; `*` matches within one path component. NOT_FOUND
  // when nothing matches although the parent is known, UNAVAILABLE when nothing was captured there.
  virtual absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                        View view = View::kHost) const = 0;

  // The file system that is mounted at `target`, an absolute path. NOT_FOUND when none is mounted
  // there. UNAVAILABLE where only `df` tells, as in a bundle.
  virtual absl::StatusOr<Space> SpaceAt(absl::string_view target, View view = View::kHost) const {
    static_cast<void>(target);
    static_cast<void>(view);
    return absl::UnavailableError("the size of a file system is told by df alone here");
  }

  // The environment of the job; UNAVAILABLE when it is not known.
  virtual absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const = 0;

  // The logs of the job, of every node and rank whose logs are at hand; never empty. UNAVAILABLE
  // when there is none (docs/decisions/006).
  virtual absl::StatusOr<std::vector<JobLog>> JobLogs() const {
    return absl::UnavailableError("no log of the job is known");
  }

  // The commands that were captured and begin with `prefix`, for those whose last words only the
  // one who captured them knew ("sacct -j <job> -P"). A live host has none: it runs what it is
  // asked.
  virtual std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                         View view = View::kHost) const {
    static_cast<void>(prefix);
    static_cast<void>(view);
    return {};
  }
};

}  // namespace galen::host

#endif  // COMMON_HOST_HOST_H_
