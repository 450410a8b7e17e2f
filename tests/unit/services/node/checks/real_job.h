#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_JOB_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_JOB_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace galen::node {

// A process of this machine and a child of it; both have `mapped` mapped, where it names a file,
// and do nothing until this ends.
class RealJob {
 public:
  explicit RealJob(const std::string& mapped = "") {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!mapped.empty()) {
        const int file = open(mapped.c_str(), O_RDONLY | O_CLOEXEC);
        if (mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) _exit(1);
      }
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
      }
      if (write(ends[1], &child, sizeof(child)) != sizeof(child)) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    if (read(ends[0], &child_, sizeof(child_)) != sizeof(child_)) child_ = 0;
    close(ends[0]);
  }
  ~RealJob() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RealJob(const RealJob&) = delete;
  RealJob& operator=(const RealJob&) = delete;

  pid_t pid() const { return pid_; }
  pid_t child() const { return child_; }  // 0: it could not be started

 private:
  pid_t pid_ = 0;
  pid_t child_ = 0;
};

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_JOB_H_
