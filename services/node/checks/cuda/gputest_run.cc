#include "services/node/checks/cuda/gputest_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/base/text.h"

extern char** environ;

namespace galen::node {
namespace {

using End = GpuTestRun::End;

constexpr absl::string_view kProgram = "galen-gputest";
constexpr absl::Duration kLook = absl::Milliseconds(100);
// Beyond the limit that a step states for itself, for a busy machine.
constexpr absl::Duration kGrace = absl::Seconds(2);
// The time limit for the program's first line.
constexpr absl::Duration kFirstWord = absl::Seconds(30);
constexpr absl::Duration kLongestStep = absl::Hours(1);
// How long a killed process may take to go. One that is stuck in the kernel driver does not.
constexpr absl::Duration kDeath = absl::Seconds(1);
constexpr std::size_t kMaxLines = 20000;
constexpr std::size_t kMaxLineBytes = 4096;
constexpr std::size_t kMaxNoiseBytes = 512;

// The variables that decide which GPUs CUDA shows, and in which order: the test sets them and does
// not inherit them from its caller.
constexpr absl::string_view kOwnVariables[] = {
    "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "CUDA_LAUNCH_BLOCKING=", "CUDA_CACHE_DISABLE="};

std::vector<std::string> Environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    const bool own =
        std::any_of(std::begin(kOwnVariables), std::end(kOwnVariables),
                    [&](absl::string_view name) { return absl::StartsWith(text, name); });
    if (!own) environment.emplace_back(text);
  }
  environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  // Compiled kernels are not left behind in a home directory.
  environment.emplace_back("CUDA_CACHE_DISABLE=1");
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The process and the pipe that it writes to.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    Kill();
    if (output_ >= 0) close(output_);
  }

  absl::Status Start(std::vector<std::string> argv) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(kProgram, ": no pipe"));
    }
    output_ = ends[0];
    // The program may block when we read slowly.
    fcntl(ends[1], F_SETFL, 0);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> environment = Environment();
    const std::string path = argv.front();
    const int error = posix_spawn(&pid_, path.c_str(), &actions, &attributes, Pointers(argv).data(),
                                  Pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error != 0) {
      pid_ = -1;
      return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot be run"));
    }
    return absl::OkStatus();
  }

  int output() const { return output_; }

  // Kills the whole group. True when it is gone; one that is stuck in the kernel is waited for in
  // the background.
  bool Kill() {
    if (pid_ <= 0) return true;
    kill(-pid_, SIGKILL);
    const absl::Time end = SteadyNow() + kDeath;
    const pid_t pid = std::exchange(pid_, -1);
    do {
      if (waitpid(pid, nullptr, WNOHANG) != 0) return true;
      absl::SleepFor(absl::Milliseconds(1));
    } while (SteadyNow() < end);
    try {
      std::thread([pid] { waitpid(pid, nullptr, 0); }).detach();
    } catch (const std::system_error&) {
      // A zombie until this process ends.
    }
    return false;
  }

  // The program's exit in words, after the end of its output; kills it when it does not end.
  std::string Reap() {
    const absl::Time end = SteadyNow() + kDeath;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (SteadyNow() >= end) return Kill() ? "did not end" : "is stuck in the driver";
      absl::SleepFor(absl::Milliseconds(1));
    }
    pid_ = -1;
    if (WIFSIGNALED(status)) return absl::StrCat("died of signal ", WTERMSIG(status));
    return absl::StrCat("ended with exit code ", WEXITSTATUS(status));
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Follows what the program says.
class Listener {
 public:
  Listener(GpuTestRun& run,
           const std::function<void(double done, absl::string_view what)>& progress)
      : run_(run), progress_(progress), silent_until_(SteadyNow() + kFirstWord) {}

  // False when it says more than can be right.
  bool Take(absl::string_view bytes) {
    for (const char c : bytes) {
      if (c != '\n') {
        if (line_.size() >= kMaxLineBytes) return false;
        line_ += c;
        continue;
      }
      if (!TakeLine(std::exchange(line_, std::string()))) return false;
    }
    return true;
  }

  bool ended() const { return ended_; }
  // Past this moment it hangs.
  absl::Time silent_until() const { return silent_until_; }
  const std::string& step() const { return step_; }
  const std::string& noise() const { return noise_; }

 private:
  bool TakeLine(const std::string& text) {
    std::optional<GpuTestLine> line = ParseGpuTestLine(text);
    if (!line.has_value()) {
      if (noise_.size() < kMaxNoiseBytes) absl::StrAppend(&noise_, text, " ");
      return true;
    }
    silent_until_ = SteadyNow() + step_limit_ + kGrace;
    if (line->kind == "step") {
      step_limit_ = std::clamp(absl::Seconds(line->Number("limit").value_or(0)),
                               absl::ZeroDuration(), kLongestStep);
      step_ = line->Text("what");
      silent_until_ = SteadyNow() + step_limit_ + kGrace;
    } else if (line->kind == "progress") {
      if (progress_) {
        progress_(std::clamp(line->Number("done").value_or(0), 0.0, 1.0), line->Text("what"));
      }
    } else if (line->kind == "error") {
      Finish(End::kFailed, line->Text("text"));
      run_.call = line->Text("call");
      run_.code = static_cast<int>(line->Integer("code").value_or(-1));
    } else if (line->kind == "hung") {
      Finish(End::kHung, line->Text("what"));
    } else if (line->kind == "refused") {
      Finish(End::kRefused, line->Text("text"));
    } else if (line->kind == "done") {
      Finish(End::kDone, "");
    } else {
      if (run_.lines.size() >= kMaxLines) return false;
      run_.lines.push_back(*std::move(line));
    }
    return true;
  }

  void Finish(End end, const std::string& text) {
    if (std::exchange(ended_, true)) return;
    run_.end = end;
    run_.text = text;
  }

  GpuTestRun& run_;
  const std::function<void(double, absl::string_view)>& progress_;
  std::string line_;
  std::string noise_;
  std::string step_ = "its start";
  absl::Duration step_limit_ = kFirstWord;
  absl::Time silent_until_;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::string> FindGpuTestProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = self.parent_path();
    for (const std::filesystem::path& path :
         {folder / std::string(kProgram), folder.parent_path() / "bin" / std::string(kProgram)}) {
      if (access(path.c_str(), X_OK) == 0) return path.string();
    }
  }
  return absl::NotFoundError(absl::StrCat(
      kProgram, " is not installed beside this program; it makes the active tests of GPUs"));
}

absl::StatusOr<GpuTestRun> RunGpuTest(
    const std::string& program, const std::vector<std::string>& arguments, absl::Time deadline,
    const Cancellation& cancelled,
    const std::function<void(double done, absl::string_view what)>& progress) {
  GpuTestRun run;
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Child child;
  if (absl::Status started = child.Start(std::move(argv)); !started.ok()) return started;
  Listener listener(run, progress);
  std::array<char, 16384> bytes;
  // The end that we make of it, which the program cannot contradict.
  const auto stop = [&](End end, std::string text) {
    run.end = end;
    run.text = std::move(text);
    if (!child.Kill()) absl::StrAppend(&run.text, " (the process is stuck in the driver)");
    return run;
  };
  while (true) {
    if (cancelled.cancelled()) return stop(End::kCancelled, "cancelled");
    const absl::Time now = SteadyNow();
    if (now >= deadline) return stop(End::kLate, listener.step());
    if (now >= listener.silent_until()) return stop(End::kHung, listener.step());
    const absl::Duration wait =
        std::clamp(std::min(deadline, listener.silent_until()) - now, absl::ZeroDuration(), kLook);
    pollfd waiting = {child.output(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
    const ssize_t n = read(child.output(), bytes.data(), bytes.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) break;
    if (!listener.Take(absl::string_view(bytes.data(), static_cast<std::size_t>(n)))) {
      return stop(End::kDied, absl::StrCat(kProgram, " said more than it should"));
    }
    if (listener.ended()) break;
  }
  const std::string how = child.Reap();
  if (!listener.ended()) {
    run.end = End::kDied;
    run.text = absl::StrCat(kProgram, " ", how, " in ", CleanText(listener.step(), kMaxNoiseBytes));
    if (!listener.noise().empty()) {
      absl::StrAppend(&run.text, ": ", CleanText(listener.noise(), kMaxNoiseBytes));
    }
  }
  return run;
}

}  // namespace galen::node
