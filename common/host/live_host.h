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
// Commands get PATH, HOME, LC_ALL=C and CUDA_DEVICE_ORDER=PCI_BUS_ID and nothing else of this
// process's environment. A command runs once for each LiveHost: its result, or error, is kept, and
// callers at the same time wait for the first. Files are read anew each time. A read that blocks (a
// dead NFS server, a stuck driver behind sysfs) is left to its thread and answered with
// DEADLINE_EXCEEDED, and so is who asks for the same again before it has ended. Looking for a
// program is a read like that.
//
// Beside the errors of Host: FAILED_PRECONDITION a path is not a regular file; INVALID_ARGUMENT it
// is not absolute; RESOURCE_EXHAUSTED too many reads are stuck already.
class LiveHost final : public Host {
 public:
  struct Options {
    std::string name;       // empty: the host name
    ProcessLimits command;  // of each command
    // When Run() ends commands that still go on, on SteadyNow()'s scale, and begins no more: they
    // are CANCELLED, as nobody knows whether they hang.
    absl::Time commands_by = absl::InfiniteFuture();
    absl::Duration read_time = absl::Seconds(5);
    std::size_t read_bytes = kFileBytes;  // of each file
    int max_stuck_reads = 16;             // of a kind; not looked at with `stuck_reads`
    // Shared by hosts that are the same machine; nullptr: this one's own.
    std::shared_ptr<StuckReads> stuck_reads;
    // Directories that programs are looked for in, separated by ":". Empty: those of this
    // process's PATH, and the system's own.
    std::string search_path;
    // Kills every command when it is cancelled; nullptr: nobody does.
    std::shared_ptr<const Cancellation> cancelled;
    // A process of the job. Without it nothing is known of the job but its logs.
    std::optional<pid_t> job_pid;
    // The logs of the job, where somebody said which they are; empty: what that process writes to.
    std::vector<JobLog> logs;
  };

  explicit LiveHost(Options options);

  const std::string& name() const override { return options_.name; }
  bool live() const override { return true; }
  absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv, View view) const override;
  // `cancelled` alone ends it, not that of the options.
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

  // As the options say.
  absl::StatusOr<CommandResult> RunInTime(absl::Span<const std::string> argv,
                                          const Cancellation& cancelled) const;
  absl::StatusOr<CommandResult> RunHere(absl::Span<const std::string> argv,
                                        const ProcessLimits& limits, const Cancellation& cancelled,
                                        const OutputSink& on_output) const;

  // Runs `work` on a thread of its own and waits for it, but not for ever. `what` names it.
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
