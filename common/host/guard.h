#ifndef COMMON_HOST_GUARD_H_
#define COMMON_HOST_GUARD_H_

#include <cstdint>

namespace galen::host {

// The input of a guard. All of it is made before the fork, because a guard must not allocate.
struct GuardPlan {
  const char* program = nullptr;  // path
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  int out = -1;      // becomes the program's standard output
  int err = -1;      // becomes its standard error
  int control = -1;  // readable or at its end: stop
  int report = -1;   // receives two GuardReports: at the start of the program, and at the end
  // Address space of each process in bytes, and number of simultaneous processes; 0: no limit.
  std::int64_t memory = 0;
  int processes = 0;
};

// A report of a guard.
struct GuardReport {
  bool last = false;
  int program = 0;     // id of the program's process and group, once it runs
  int error = 0;       // errno of a program that could not be started; nothing below is set
  bool ended = false;  // the program ended by itself, with `status` of waitpid
  int status = 0;
  int too_many = 0;  // number of processes that exceeded the limit
  int left = 0;      // processes that SIGKILL did not end in time: they are stuck in the kernel
};

// A process between this one and a program that it runs, so that no part of the program is ever
// left running: the guard is the program's subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), which
// makes it the parent of all processes that the program leaves behind, even in another process
// group, in another session or forked twice. The program can remove a marker from the environment,
// and a cgroup needs rights that not every user has; a subreaper has neither problem.
//
// It starts the program in a new session. When the program ends, when it is told to stop, when
// there are too many processes or when the caller dies (then `control` ends), it kills every
// process group with a descendant, repeatedly until none is left, and reports. Killing a group is
// atomic: a fork within it is either before, and is killed too, or after, and fails. Processes in
// other groups survive only if the program kills the guard itself, which another user's program
// cannot do. A guard that the program stops (SIGSTOP) continues as soon as somebody waits for its
// end.
//
// Call it in the child of a fork; it never returns, and uses only async-signal-safe functions.
[[noreturn]] void RunGuard(const GuardPlan& plan);

}  // namespace galen::host

#endif  // COMMON_HOST_GUARD_H_
