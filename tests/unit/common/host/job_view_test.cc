// A job in a container, seen from the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/host/live_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A process in a container: its process numbers and its /proc are its own. `pid` is 0 if this user
// may not create one.
class ContainedProcess {
 public:
  ContainedProcess() {
    std::array<int, 2> told;
    if (pipe(told.data()) != 0) return;
    outer_ = fork();
    if (outer_ == 0) Contain(told[1]);
    close(told[1]);
    if (outer_ < 0 || read(told[0], &pid_, sizeof(pid_)) != sizeof(pid_)) pid_ = 0;
    close(told[0]);
  }
  ~ContainedProcess() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (outer_ > 0) waitpid(outer_, nullptr, 0);
  }
  ContainedProcess(const ContainedProcess&) = delete;
  ContainedProcess& operator=(const ContainedProcess&) = delete;

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void Contain(int told) {
    std::array<int, 2> mounted;
    if ((unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 &&
         unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) ||
        pipe(mounted.data()) != 0) {
      _exit(1);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pid_t inner = fork();
    char done = 0;
    if (inner == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("proc", "/proc", "proc", 0, nullptr) != 0 || write(mounted[1], &done, 1) != 1) {
        _exit(1);
      }
      while (true) pause();
    }
    close(mounted[1]);
    if (inner > 0 && read(mounted[0], &done, 1) == 1 &&
        write(told, &inner, sizeof(inner)) == sizeof(inner)) {
      close(told);
      waitpid(inner, nullptr, 0);
    }
    _exit(0);
  }

  pid_t outer_ = -1;
  pid_t pid_ = 0;
};

TEST(JobView, SeesAJobThatCountsItsProcessesForItself) {
  const ContainedProcess job;
  if (job.pid() == 0) GTEST_SKIP() << "this user may make no container";
  LiveHost::Options options;
  options.job_pid = job.pid();
  const LiveHost host(options);
  const std::string own = absl::StrCat("/proc/", job.pid(), "/status");
  for (const std::string& pattern : {std::string("/proc/self/status"), own}) {
    const auto found = host.Glob(pattern, View::kJob);
    ASSERT_THAT(found, IsOk());
    EXPECT_THAT(*found, ElementsAre(pattern));
  }
  const auto found = host.Glob("/proc/self/statu[rst]", View::kJob);
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(*found, ElementsAre("/proc/self/status"));
  EXPECT_THAT(host.Glob("/proc/self/no-such-file", View::kJob),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/proc/self/no-such-file: ")));
  for (const std::string& path : {std::string("/proc/self/status"), own}) {
    const auto status = host.ReadFile(path, View::kJob);
    ASSERT_THAT(status, IsOk());
    EXPECT_THAT(*status, HasSubstr(absl::StrCat("Pid:\t", job.pid(), "\n")));
  }
  EXPECT_THAT(host.ReadFile("/proc/mounts", View::kJob), IsOk());
  EXPECT_THAT(host.ReadFile("/proc/net/dev", View::kJob), IsOk());
}

}  // namespace
}  // namespace galen::host
