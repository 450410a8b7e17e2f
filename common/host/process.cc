#include "common/host/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/commands.h"
#include "common/host/file_descriptor.h"

namespace galen::host {
namespace {

// How long a killed program may take to go. One that is stuck in the kernel does not go at all.
constexpr absl::Duration kDeath = absl::Seconds(1);
constexpr absl::Duration kLongestNap = absl::Milliseconds(20);
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

// Owns what posix_spawn is told.
class SpawnPlan {
 public:
  SpawnPlan(int out, int err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// One stream of a program's output.
struct Stream {
  FileDescriptor fd;
  std::string text;
  std::size_t seen = 0;

  // Takes what is there; closes itself at the end.
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
      // Others must get their turn although this one never stops.
      if (seen > limit * kDropFactor) return;
    }
  }
};

// A child that was started and not yet waited for.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Kills what is left of the group; a child that does not go is waited for in the background.
  ~Child() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    const absl::Time end = absl::Now() + kDeath;
    while (absl::Now() < end) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
      absl::SleepFor(absl::Milliseconds(1));
    }
    std::thread([pid = pid_] { waitpid(pid, nullptr, 0); }).detach();
  }

  // True once it has ended. It stays a zombie, so that its process group cannot become another's.
  bool HasEnded() const {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid_;
  }

  // Kills the rest of its group and takes its exit code. Only after HasEnded().
  int Reap() {
    kill(-pid_, SIGKILL);
    int status = 0;
    const pid_t waited = waitpid(pid_, &status, 0);
    pid_ = -1;
    if (waited < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

// Reads both streams until the child has ended or used up its limits.
absl::StatusOr<CommandResult> Collect(pid_t pid, Stream out, Stream err,
                                      const ProcessLimits& limits, absl::Time start,
                                      absl::Span<const std::string> argv) {
  Child child(pid);
  const absl::Time deadline = start + limits.time;
  absl::Duration nap = absl::Milliseconds(1);
  CommandResult result;
  while (true) {
    const bool ended = child.HasEnded();
    // After the end: what it wrote before is in the pipes by now.
    out.Drain(limits.output);
    err.Drain(limits.output);
    if (ended) {
      result.exit_code = child.Reap();
      break;
    }
    if (std::max(out.seen, err.seen) > limits.output * kDropFactor) {
      result.exit_code = 128 + SIGKILL;
      break;
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat("\"", ShownCommand(argv),
                                                      "\" did not answer within ",
                                                      absl::FormatDuration(limits.time)));
    }
    std::array<pollfd, 2> fds = {pollfd{out.fd.get(), POLLIN, 0}, pollfd{err.fd.get(), POLLIN, 0}};
    const absl::Duration wait = std::min(left, nap);
    if (poll(fds.data(), fds.size(), static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1) > 0) {
      nap = absl::Milliseconds(1);
    } else {
      nap = std::min(nap * 2, kLongestNap);
    }
  }
  result.truncated = out.seen > out.text.size() || err.seen > err.text.size();
  result.out = std::move(out.text);
  result.err = std::move(err.text);
  result.duration = absl::Now() - start;
  return result;
}

}  // namespace

absl::StatusOr<CommandResult> RunProcess(absl::Span<const std::string> argv,
                                         const std::string& search_path,
                                         absl::Span<const std::string> environment,
                                         const ProcessLimits& limits) {
  if (argv.empty() || argv.front().empty()) return absl::InvalidArgumentError("argv is empty");
  for (const std::string& argument : argv) {
    if (absl::StrContains(argument, '\0')) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", ShownCommand(argv), "\": an argument holds a NUL byte"));
    }
  }
  GALEN_ASSIGN_OR_RETURN(const std::string program, FindProgram(argv.front(), search_path));
  GALEN_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  GALEN_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  const SpawnPlan plan(out.write.get(), err.write.get());
  const std::vector<char*> arguments = Pointers(argv);
  const std::vector<char*> variables = Pointers(environment);
  const absl::Time start = absl::Now();
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), plan.actions(), plan.attributes(),
                                arguments.data(), variables.data());
  if (error != 0) return SpawnError(error, argv.front());
  out.write.Close();
  err.write.Close();
  return Collect(pid, Stream{std::move(out.read), {}, 0}, Stream{std::move(err.read), {}, 0},
                 limits, start, argv);
}

}  // namespace galen::host
