#ifndef COMMON_HOST_GUARD_H_
#define COMMON_HOST_GUARD_H_

#include <cstdint>

namespace galen::host {

// What a guard is told. All of it is made before the fork, as a guard must not allocate.
struct GuardPlan {
  const char* program = nullptr;  // path
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  int out = -1;      // becomes the program's standard output
  int err = -1;      // and its standard error
  int control = -1;  // readable or at its end: stop
  int report = -1;   // takes two GuardReports: as the program begins, and at the end
  // Address space of each process in bytes, and processes at a time; 0: no limit.
  std::int64_t memory = 0;
  int processes = 0;
};

// What a guard says.
struct GuardReport {
  bool last = false;
  int program = 0;     // number of the program's process and group, once it runs
  int error = 0;       // errno of a program that could not be started; nothing below is set
  bool ended = false;  // the program ended by itself, with `status` as of waitpid
  int status = 0;
  int too_many = 0;  // this many processes were seen, more than it may have
  int left = 0;      // processes that SIGKILL did not end in time: they are stuck in the kernel
};

// A process of ours between us and a program that we run, so that nothing of it is ever left
// running: the guard is the program's subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), which makes it
// the parent of whatever the program leaves behind, be it in another process group, in another
// session or forked twice. A marker in the environment can be wiped by the program, and a cgroup
// needs rights that not every user has; a subreaper needs neither.
//
// It starts the program in a session of its own. When the program ends, when it is told to stop,
// when there are too many processes or when we die (then `control` ends), it kills every group that
// has a descendant in it, again until none is left, and reports. Killing a group is atomic: a fork
// within it is either before, and is killed too, or after, and fails. Only a program that kills the
// guard itself, which another user's program cannot, gets away with what it put into other groups.
// One that it stops (SIGSTOP) goes on as soon as somebody waits for it to end.
//
// Call it in the child of a fork; it never returns, and uses only what is async-signal-safe.
[[noreturn]] void RunGuard(const GuardPlan& plan);

}  // namespace galen::host

#endif  // COMMON_HOST_GUARD_H_
