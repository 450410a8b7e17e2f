#include "common/host/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>

// Only async-signal-safe calls from here on: no allocation, no lock, no std::string.
namespace galen::host {
namespace {

// How long SIGKILL may take to end everything, on an overloaded machine.
constexpr std::int64_t kDeathMs = 3000;
// Counting processes reads all of /proc, so its share of the guard's time is limited.
constexpr std::int64_t kShortestSampleMs = 20;
constexpr std::int64_t kSampleShare = 20;
constexpr std::size_t kMostProcesses = 32000;

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t group;
  bool zombie;
  bool ours;
};

// Not on the stack; unused pages are never touched.
std::array<Process, kMostProcesses> g_processes;

std::int64_t NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void CloseRange(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  const unsigned end = files.rlim_cur < 65536 ? static_cast<unsigned>(files.rlim_cur) : 65536;
  for (unsigned fd = first; fd <= last && fd < end; ++fd) close(static_cast<int>(fd));
}

// Closes every descriptor except these, which are above 2.
void CloseOthers(std::array<int, 5> keep) {
  for (std::size_t i = 1; i < keep.size(); ++i) {  // insertion sort
    for (std::size_t j = i; j > 0 && keep[j] < keep[j - 1]; --j) {
      const int lower = keep[j];
      keep[j] = keep[j - 1];
      keep[j - 1] = lower;
    }
  }
  unsigned next = 0;
  for (const int fd : keep) {
    if (fd < 0) continue;
    if (static_cast<unsigned>(fd) > next) CloseRange(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  CloseRange(next, UINT_MAX);
}

// Reads a number of /proc/<pid>/stat, and moves `at` past it.
long ReadNumber(const char*& at) {
  while (*at == ' ') ++at;
  const bool negative = *at == '-';
  if (negative) ++at;
  long number = 0;
  while (*at >= '0' && *at <= '9') number = number * 10 + (*at++ - '0');
  return negative ? -number : number;
}

// False: the process is gone.
bool ReadStat(int proc, const char* name, Process& process) {
  std::array<char, 64> path = {};
  std::size_t length = 0;
  for (; name[length] != '\0' && length < 20; ++length) path[length] = name[length];
  for (const char c : {'/', 's', 't', 'a', 't'}) path[length++] = c;
  const int fd = openat(proc, path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 512> text = {};
  const ssize_t got = read(fd, text.data(), text.size() - 1);
  close(fd);
  // "4711 (a name) S 1 4711 ...": the name may contain anything, also ")".
  const char* at = nullptr;
  for (ssize_t i = 0; i < got; ++i) {
    if (text[static_cast<std::size_t>(i)] == ')') at = text.data() + i;
  }
  if (at == nullptr || at[1] == '\0' || at[2] == '\0') return false;
  process.zombie = at[2] == 'Z' || at[2] == 'X';
  at += 3;
  process.parent = static_cast<pid_t>(ReadNumber(at));
  process.group = static_cast<pid_t>(ReadNumber(at));
  process.ours = false;
  return true;
}

// The numbers of descendants: a table with open addressing, never more than half full.
constexpr std::size_t kTableSize = 65536;
std::array<pid_t, kTableSize> g_marked;

std::size_t Slot(pid_t pid) {
  std::size_t slot = static_cast<std::uint32_t>(pid) * std::size_t{2654435761} % kTableSize;
  while (g_marked[slot] != 0 && g_marked[slot] != pid) slot = (slot + 1) % kTableSize;
  return slot;
}
void Mark(pid_t pid, bool clear) {
  if (clear) __builtin_memset(g_marked.data(), 0, sizeof(g_marked));
  g_marked[Slot(pid)] = pid;
}
// 0, the parent of the first processes of the machine, is also the value of an empty slot.
bool IsMarked(pid_t pid) { return pid > 1 && g_marked[Slot(pid)] == pid; }

// Fills g_processes with all processes, marks the descendants of this one, and returns their
// number.
std::size_t ReadProcesses() {
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return 0;
  alignas(8) std::array<char, 16384> buffer;
  std::size_t count = 0;
  for (;;) {
    const long bytes = syscall(SYS_getdents64, proc, buffer.data(), buffer.size());
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      // struct linux_dirent64: 8 bytes inode, 8 offset, 2 length, 1 type, then the name.
      const char* const entry = buffer.data() + at;
      std::uint16_t length = 0;
      __builtin_memcpy(&length, entry + 16, sizeof(length));
      const char* const name = entry + 19;
      if (length == 0) break;
      at += length;
      if (*name < '1' || *name > '9' || count >= g_processes.size()) continue;
      const char* number = name;
      g_processes[count].pid = static_cast<pid_t>(ReadNumber(number));
      if (ReadStat(proc, name, g_processes[count])) ++count;
    }
  }
  close(proc);
  // Generation by generation: the children of this process, then theirs. A fork bomb makes many
  // processes and few generations, so each is looked up in a table instead of in the list.
  Mark(getpid(), /*clear=*/true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      Process& process = g_processes[i];
      if (process.ours || !IsMarked(process.parent)) continue;
      Mark(process.pid, /*clear=*/false);
      process.ours = changed = true;
    }
  }
  return count;
}

int CountLiving() {
  const std::size_t count = ReadProcesses();
  int living = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (g_processes[i].ours && !g_processes[i].zombie) ++living;
  }
  return living;
}

// Takes the exit codes of children. False: there is no child any more, and thus no descendant,
// because a descendant without a parent would be a child of this process.
bool Reap() {
  for (;;) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid > 0) continue;
    if (pid < 0 && errno == EINTR) continue;
    return pid == 0;
  }
}

// Takes the exit codes of processes that the program left behind. True: the program itself has
// ended; it stays a zombie for now, so that the id of its group cannot be reused.
bool HasEnded(pid_t program) {
  for (;;) {
    siginfo_t info = {};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    if (info.si_pid == program) return true;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// Kills all descendants; returns the number of those that did not end.
int KillAll() {
  const std::int64_t end = NowMs() + kDeathMs;
  const pid_t own_group = getpgrp();
  long nap_us = 500;
  while (Reap()) {
    const std::size_t count = ReadProcesses();
    for (std::size_t i = 0; i < count; ++i) {
      const Process& process = g_processes[i];
      if (!process.ours || process.zombie) continue;
      if (process.group > 1 && process.group != own_group) kill(-process.group, SIGKILL);
      kill(process.pid, SIGKILL);
    }
    if (!Reap()) return 0;
    if (NowMs() >= end) return CountLiving();
    const timespec nap = {0, nap_us * 1000};
    nanosleep(&nap, nullptr);
    if (nap_us < 20'000) nap_us *= 2;
  }
  return 0;
}

// Waits until the program runs or fails to start (see `error`). False: it must stop before that;
// execve(2) blocks as long as the file system of the program.
bool Begins(int error_pipe, int control, int& error) {
  for (;;) {
    std::array<pollfd, 2> fds = {pollfd{error_pipe, POLLIN, 0}, pollfd{control, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), -1) <= 0) continue;
    if (fds[0].revents != 0) {
      // The pipe ends without data once the program runs.
      int said = 0;
      if (read(error_pipe, &said, sizeof(said)) == sizeof(said)) error = said;
      return true;
    }
    if (fds[1].revents != 0) return false;
  }
}

[[noreturn]] void Say(int fd, GuardReport report) {
  report.last = true;
  // Smaller than PIPE_BUF, so it is written completely or not at all.
  const ssize_t written = write(fd, &report, sizeof(report));
  _exit(written == sizeof(report) ? EXIT_SUCCESS : EXIT_FAILURE);
}

// The program's side of the fork.
[[noreturn]] void Exec(const GuardPlan& plan, int error_pipe) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDONLY);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  bool ready = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(plan.out, STDOUT_FILENO) >= 0 &&
               dup2(plan.err, STDERR_FILENO) >= 0;
  if (plan.memory > 0) {
    const rlimit memory = {static_cast<rlim_t>(plan.memory), static_cast<rlim_t>(plan.memory)};
    ready = ready && setrlimit(RLIMIT_AS, &memory) == 0;
  }
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Reported here and not by the guard, which the program may kill at once.
  GuardReport begun;
  begun.program = getpid();
  ready = ready && write(plan.report, &begun, sizeof(begun)) == sizeof(begun);
  if (ready) {
    CloseOthers({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, error_pipe, -1});
    execve(plan.program, plan.argv, plan.environment);
  }
  const int error = errno;
  const ssize_t ignored = write(error_pipe, &error, sizeof(error));
  static_cast<void>(ignored);
  _exit(127);
}

int Moved(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }

}  // namespace

void RunGuard(const GuardPlan& told) {
  GuardPlan plan = told;
  GuardReport report;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Not prctl(): AddressSanitizer's version takes a lock, and the thread that may hold it does not
  // exist after the fork.
  syscall(SYS_prctl, PR_SET_NAME, "galen-guard", 0, 0, 0);
  plan.out = Moved(told.out);
  plan.err = Moved(told.err);
  plan.control = Moved(told.control);
  plan.report = Moved(told.report);
  CloseOthers({plan.out, plan.err, plan.control, plan.report, -1});
  // Occupies 0, 1 and 2, which are the program's, so that no descriptor opened below gets them.
  for (int i = 0; i < 3; ++i) open("/dev/null", O_RDWR);
  std::array<int, 2> error_pipe = {-1, -1};
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  const int ended = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ended < 0 || pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
    report.error = errno;
    Say(plan.report, report);
  }
  const pid_t program = fork();
  if (program == 0) Exec(plan, error_pipe[1]);
  report.error = program < 0 ? errno : 0;
  close(plan.out);
  close(plan.err);
  close(error_pipe[1]);
  const bool begins = program > 0 && Begins(error_pipe[0], plan.control, report.error);
  if (report.error != 0) Say(plan.report, report);
  // Helps to kill a program that occupies every processor. Only root may do it.
  setpriority(PRIO_PROCESS, 0, -10);

  std::int64_t interval = kShortestSampleMs;
  std::int64_t next_sample = NowMs() + interval;
  while (begins) {
    if (HasEnded(program)) {
      kill(-program, SIGKILL);
      waitpid(program, &report.status, 0);
      report.ended = true;
      break;
    }
    const bool counts = plan.processes > 0;
    if (counts && NowMs() >= next_sample) {
      const std::int64_t begin = NowMs();
      const int living = CountLiving();
      if (living > plan.processes) {
        report.too_many = living;
        break;
      }
      const std::int64_t taken = NowMs() - begin;
      interval =
          taken * kSampleShare > kShortestSampleMs ? taken * kSampleShare : kShortestSampleMs;
      next_sample = NowMs() + interval;
    }
    std::array<pollfd, 2> fds = {pollfd{plan.control, POLLIN, 0}, pollfd{ended, POLLIN, 0}};
    if (poll(fds.data(), fds.size(), counts ? static_cast<int>(interval) : -1) > 0) {
      if (fds[0].revents != 0) break;
      signalfd_siginfo drained;
      while (read(ended, &drained, sizeof(drained)) > 0) {
      }
    }
  }
  if (!report.ended) {
    kill(-program, SIGKILL);
    kill(program, SIGKILL);  // it may not have its own group yet
  }
  report.left = KillAll();
  Say(plan.report, report);
}

}  // namespace galen::host
