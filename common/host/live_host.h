#ifndef COMMON_HOST_LIVE_HOST_H_
#define COMMON_HOST_LIVE_HOST_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/host/host.h"
#include "common/host/stuck_reads.h"

namespace galen::host {

// The machine that this process runs on. Thread-safe.
//
// Commands get PATH, HOME, LC_ALL=C and CUDA_DEVICE_ORDER=PCI_BUS_ID, and nothing else from this
// process's environment. A command runs once for each LiveHost: its result, or error, is kept, and
// concurrent callers wait for the first. Files are read each time. A read that blocks (a dead NFS
// server, a stuck driver behind sysfs) is left to its thread and returns DEADLINE_EXCEEDED, and so
// does a repeated read of the same path before it has ended. The search for a program counts as a
// read.
//
// Errors in addition to those of Host: FAILED_PRECONDITION a path is not a regular file;
// INVALID_ARGUMENT it is not absolute; RESOURCE_EXHAUSTED too many reads are stuck.
class LiveHost final : public Host {
 public:
  struct Options {
    std::string name;       // empty: the host name
    ProcessLimits command;  // of each command
    // Time on SteadyNow()'s scale at which Run() ends running commands and starts no more: they are
    // CANCELLED, because it is unknown whether they hang.
    absl::Time commands_by = absl::InfiniteFuture();
    absl::Duration read_time = absl::Seconds(5);
    std::size_t read_bytes = kFileBytes;  // of each file
    int max_stuck_reads = 16;             // of a kind; ignored if `stuck_reads` is set
    // Shared by hosts of the same machine; nullptr: not shared.
    std::shared_ptr<StuckReads> stuck_reads;
    // Directories to search for programs, separated by ":". Empty: those of this process's PATH,
    // and the system's own.
    std::string search_path;
    // Kills every command when it is cancelled; may be nullptr.
    std::shared_ptr<const Cancellation> cancelled;
    // A process of the job. Without it only the logs of the job are known.
    std::optional<pid_t> job_pid;
    // The logs of the job, if configured; empty: the files that this process writes to.
    std::vector<JobLog> logs;
  };

  explicit LiveHost(Options options);

  const std::string& name() const override { return options_.name; }
  bool live() const override { return true; }
  absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv, View view) const override;
  // Ended only by `cancelled`, not by that of the options.
  absl::StatusOr<CommandResult> RunWithin(absl::Span<const std::string> argv,
                                          const ProcessLimits& limits,
                                          const Cancellation& cancelled,
                                          const OutputSink& on_output) const override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, View view) const override;
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                View view) const override;
  absl::StatusOr<Space> SpaceAt(absl::string_view target, View view) const override;
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override;
  // The files that the job's process writes its output and its errors to.
  absl::StatusOr<std::vector<JobLog>> JobLogs() const override;

 private:
  // A command that runs or has run.
  struct Capture {
    std::optional<absl::StatusOr<CommandResult>> result;
  };

  // Runs within the time limits of the options.
  absl::StatusOr<CommandResult> RunInTime(absl::Span<const std::string> argv,
                                          const Cancellation& cancelled) const;
  absl::StatusOr<CommandResult> RunHere(absl::Span<const std::string> argv,
                                        const ProcessLimits& limits, const Cancellation& cancelled,
                                        const OutputSink& on_output) const;

  // Runs `work` on a separate thread and waits for it with a time limit. `what` names it in errors.
  template <typename T>
  absl::StatusOr<T> WithWatchdog(StuckReads::Kind kind, absl::string_view what,
                                 std::function<absl::StatusOr<T>()> work) const;

  Options options_;
  std::vector<std::string> environment_;
  mutable Mutex mu_;
  mutable std::condition_variable finished_;
  mutable std::map<std::vector<std::string>, std::shared_ptr<Capture>> captures_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::host

#endif  // COMMON_HOST_LIVE_HOST_H_
