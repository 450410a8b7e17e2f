#include "common/host/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/host/commands.h"
#include "common/host/file_descriptor.h"
#include "common/host/guard.h"

namespace galen::host {
namespace {

// How long a guard may take to end once everything is killed. If its program is stuck in the
// kernel, it reports that after three seconds.
constexpr absl::Duration kDeath = absl::Seconds(2);
constexpr absl::Duration kLongestNap = absl::Hours(1);
// Interval of the checks for a cancellation.
constexpr absl::Duration kCancelNap = absl::Milliseconds(20);
constexpr std::size_t kDropFactor = 8;

absl::Status Missing(absl::string_view program) {
  return absl::NotFoundError(absl::StrCat(CleanText(program, 128), " is not installed"));
}

absl::Status SpawnError(int error, absl::string_view program) {
  if (error == ENOENT || error == ENOTDIR) return Missing(program);
  const std::string shown = CleanText(program, 128);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(absl::StrCat(shown, ": may not be run by this user"));
  }
  if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE) {
    return absl::ResourceExhaustedError(absl::StrCat(shown, ": no room for another process"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(shown, ": cannot be run (", absl::ErrnoToStatus(error, "").message(), ")"));
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

absl::StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SpawnError(errno, "pipe");
  Pipe made{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) return SpawnError(errno, "pipe");
  return made;
}

// The strings as exec wants them; they must outlive the result.
std::vector<char*> Pointers(absl::Span<const std::string> strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// One stream of a program's output.
struct Stream {
  FileDescriptor fd;
  std::string text;
  std::size_t seen = 0;

  // Reads the available output; closes itself at the end.
  void Drain(std::size_t limit) {
    std::array<char, 65536> chunk;
    while (fd.is_open()) {
      const ssize_t n = read(fd.get(), chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        fd.Close();
        return;
      }
      const std::size_t got = static_cast<std::size_t>(n);
      seen += got;
      text.append(chunk.data(), std::min(got, limit - text.size()));
      // An endless stream must not block the others.
      if (seen > limit * kDropFactor) return;
    }
  }
};

// A guard that was started and not yet waited for.
class Guard {
 public:
  Guard(pid_t pid, FileDescriptor control, FileDescriptor report)
      : pid_(pid), control_(std::move(control)), report_(std::move(report)) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Waits for it; if it is stuck, waits in the background and kills its program directly. A guard
  // that has not started its program yet is killed: it would keep this program's own streams open
  // for ever.
  ~Guard() {
    Stop();
    const absl::Time end = SteadyNow() + kDeath;
    while (SteadyNow() < end) {
      if (IsGone(pid_, WNOHANG)) return;
      absl::SleepFor(absl::Milliseconds(1));
    }
    if (program_ > 1) kill(-program_, SIGKILL);
    if (program_ < 0) kill(pid_, SIGKILL);
    try {
      std::thread([pid = pid_] {
        while (!IsGone(pid, 0)) {
        }
      }).detach();
    } catch (const std::system_error&) {
      // No thread is available: a zombie remains.
    }
  }

  // Tells it to kill everything; a guard that was stopped by its program is continued.
  void Stop() {
    control_.Close();
    kill(pid_, SIGCONT);
  }
  bool stopped() const { return !control_.is_open(); }
  int fd() const { return report_.get(); }

  // True once it has reported the end, or is gone without a report.
  bool Poll(std::optional<GuardReport>& report) {
    GuardReport next;
    while (true) {
      const ssize_t n = read(report_.get(), &next, sizeof(next));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return false;
      if (n != static_cast<ssize_t>(sizeof(next))) {
        // The guard was killed, so its program must be ended here.
        if (program_ > 1) kill(-program_, SIGKILL);
        return true;
      }
      if (next.last) {
        program_ = 0;  // its id may be reused from now on
        report = next;
        return true;
      }
      program_ = next.program;
    }
  }

 private:
  // Takes the exit code of a guard. A stopped guard is continued, even if its program stops it
  // repeatedly.
  static bool IsGone(pid_t pid, int flags) {
    int status = 0;
    const pid_t found = waitpid(pid, &status, flags | WUNTRACED);
    if (found == pid && WIFSTOPPED(status)) {
      kill(pid, SIGCONT);
      return false;
    }
    return found > 0 || (found < 0 && errno != EINTR);
  }

  const pid_t pid_;
  pid_t program_ = -1;  // -1: not started, 0: ended
  FileDescriptor control_;
  FileDescriptor report_;
};

// Why a program was stopped before its end.
enum class Stopped { kNo, kTime, kCancelled, kOutput };

// Reads both streams until the program has ended or exceeded its limits, and all its processes are
// gone.
class Collector {
 public:
  Collector(Guard& guard, Stream out, Stream err, const ProcessLimits& limits,
            const Cancellation& cancelled, const OutputSink& on_output)
      : guard_(guard),
        out_(std::move(out)),
        err_(std::move(err)),
        limits_(limits),
        cancelled_(cancelled),
        on_output_(on_output) {}

  // The guard's last report; nothing: there was none.
  std::optional<GuardReport> Wait() {
    std::optional<GuardReport> report;
    const absl::Time deadline = start_ + limits_.time;
    absl::Time give_up = absl::InfiniteFuture();
    while (true) {
      const bool ended = guard_.Poll(report);
      // After the end all its output is in the pipes.
      Drain();
      if (ended) return report;
      const absl::Time now = SteadyNow();
      if (now >= give_up) return std::nullopt;
      if (!guard_.stopped()) {
        if (std::max(out_.seen, err_.seen) > limits_.output * kDropFactor)
          stopped_ = Stopped::kOutput;
        if (now >= deadline) stopped_ = Stopped::kTime;
        if (cancelled_.cancelled()) stopped_ = Stopped::kCancelled;
        if (stopped_ != Stopped::kNo) {
          guard_.Stop();
          give_up = now + kDeath * 2;
        }
      }
      std::array<pollfd, 3> fds = {pollfd{out_.fd.get(), POLLIN, 0},
                                   pollfd{err_.fd.get(), POLLIN, 0},
                                   pollfd{guard_.fd(), POLLIN, 0}};
      // Output that is no longer read must not keep this thread busy.
      if (guard_.stopped()) fds[0].fd = fds[1].fd = -1;
      absl::Duration wait =
          std::min(guard_.stopped() ? give_up - now : deadline - now, kLongestNap);
      if (&cancelled_ != &Cancellation::Never()) wait = std::min(wait, kCancelNap);
      poll(fds.data(), fds.size(), static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
    }
  }

  CommandResult Result(int exit_code) {
    CommandResult result;
    result.exit_code = exit_code;
    result.truncated = out_.seen > out_.text.size() || err_.seen > err_.text.size();
    result.out = std::move(out_.text);
    result.err = std::move(err_.text);
    result.duration = SteadyNow() - start_;
    return result;
  }
  Stopped stopped() const { return stopped_; }

 private:
  void Drain() {
    const std::size_t told = out_.text.size();
    out_.Drain(limits_.output);
    err_.Drain(limits_.output);
    if (on_output_ && out_.text.size() > told) {
      on_output_(absl::string_view(out_.text).substr(told));
    }
  }

  Guard& guard_;
  Stream out_;
  Stream err_;
  const ProcessLimits& limits_;
  const Cancellation& cancelled_;
  const OutputSink& on_output_;
  const absl::Time start_ = SteadyNow();
  Stopped stopped_ = Stopped::kNo;
};

// The outcome of a program, from the report of its guard.
absl::StatusOr<CommandResult> Outcome(Collector& collector,
                                      const std::optional<GuardReport>& report,
                                      const ProcessLimits& limits,
                                      absl::Span<const std::string> argv,
                                      const std::string& program) {
  const std::string shown = absl::StrCat("\"", ShownCommand(argv), "\"");
  if (report.has_value() && report->error == ENOENT && access(program.c_str(), F_OK) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(CleanText(argv.front(), 128),
                     ": cannot be run (its interpreter or loader does not exist)"));
  }
  if (report.has_value() && report->error != 0) return SpawnError(report->error, argv.front());
  const std::string stuck =
      report.has_value() && report->left == 0
          ? ""
          : absl::StrCat("; ", report.has_value() ? absl::StrCat(report->left) : "some",
                         " of its processes are stuck and could not be killed");
  switch (collector.stopped()) {
    case Stopped::kTime:
      return absl::DeadlineExceededError(
          absl::StrCat(shown, " did not answer within ", absl::FormatDuration(limits.time), stuck));
    case Stopped::kCancelled:
      return absl::CancelledError(absl::StrCat(shown, " was stopped", stuck));
    case Stopped::kOutput:
      return collector.Result(128 + SIGKILL);
    case Stopped::kNo:
      break;
  }
  if (!report.has_value()) {
    return absl::InternalError(absl::StrCat(shown, ": what watched over it was killed"));
  }
  if (report->too_many > 0) {
    return absl::ResourceExhaustedError(absl::StrCat(shown, ": had ", report->too_many,
                                                     " processes, more than ", limits.processes,
                                                     ", and was killed", stuck));
  }
  return collector.Result(WIFEXITED(report->status) ? WEXITSTATUS(report->status)
                                                    : 128 + WTERMSIG(report->status));
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path) {
  if (absl::StrContains(name, '/')) return name;
  int error = ENOENT;
  for (const absl::string_view directory : absl::StrSplit(search_path, ':', absl::SkipEmpty())) {
    const std::string path = absl::StrCat(directory, "/", name);
    struct stat info;
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (access(path.c_str(), X_OK) == 0) return path;
    error = EACCES;
  }
  return SpawnError(error, name);
}

absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const std::string& search_path,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits, const Cancellation& cancelled,
                                         const OutputSink& on_output) {
  return RunProcess(
      argv, [&](const std::string& name) { return FindProgram(name, search_path); }, environment,
      limits, cancelled, on_output);
}

absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const ProgramFinder& find,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits, const Cancellation& cancelled,
                                         const OutputSink& on_output) {
  if (argv.empty() || argv.front().empty()) return absl::InvalidArgumentError("argv is empty");
  for (const std::string& argument : argv) {
    if (absl::StrContains(argument, '\0')) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", ShownCommand(argv), "\": an argument holds a NUL byte"));
    }
  }
  if (cancelled.cancelled()) {
    return absl::CancelledError(absl::StrCat("\"", ShownCommand(argv), "\" was not begun"));
  }
  const absl::Time asked = SteadyNow();
  GALEN_ASSIGN_OR_RETURN(const std::string program, find(argv.front()));
  ProcessLimits left = limits;
  left.time -= SteadyNow() - asked;
  GALEN_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  GALEN_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  GALEN_ASSIGN_OR_RETURN(Pipe control, MakePipe());
  GALEN_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  const std::vector<char*> arguments = Pointers(argv);
  const std::vector<char*> variables = Pointers(environment);
  const GuardPlan plan = {.program = program.c_str(),
                          .argv = arguments.data(),
                          .environment = variables.data(),
                          .out = out.write.get(),
                          .err = err.write.get(),
                          .control = control.read.get(),
                          .report = report.write.get(),
                          .memory = limits.memory,
                          .processes = limits.processes};
  const pid_t pid = fork();
  if (pid == 0) RunGuard(plan);
  if (pid < 0) return SpawnError(errno, argv.front());
  out.write.Close();
  err.write.Close();
  control.read.Close();
  report.write.Close();
  Guard guard(pid, std::move(control.write), std::move(report.read));
  Collector collector(guard, Stream{std::move(out.read), {}, 0}, Stream{std::move(err.read), {}, 0},
                      left, cancelled, on_output);
  const std::optional<GuardReport> last = collector.Wait();
  return Outcome(collector, last, limits, argv, program);
}

}  // namespace galen::host
