#include "common/host/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "scratch.h"
#include "tests/testing/leased_file.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Argv = std::vector<std::string>;

std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Processes, zombies aside, whose arguments or environment hold `marker`.
std::vector<std::string> Alive(const std::string& marker) {
  std::vector<std::string> alive;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (pid == std::to_string(getpid())) continue;
    const std::string text =
        absl::StrCat(Content(entry.path() / "cmdline"), Content(entry.path() / "environ"));
    const std::string stat = Content(entry.path() / "stat");
    if (absl::StrContains(text, marker) && !absl::StrContains(stat, ") Z ")) alive.push_back(pid);
  }
  return alive;
}

// A program's run, cancelled once it has written file `ready`.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest()
      : marker_(absl::StrCat("GALEN_TEST_MARK=", getpid(), "-",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~ProcessTest() override { EXPECT_THAT(Alive(marker_), IsEmpty()); }

  absl::StatusOr<CommandResult> Run(const std::string& script, const ProcessLimits& limits,
                                    const Cancellation& cancelled = Cancellation::Never(),
                                    const OutputSink& sink = nullptr) {
    return RunProcess({"sh", "-c", script}, "/usr/bin:/bin",
                      {"PATH=/usr/bin:/bin", absl::StrCat("READY=", scratch_ / "ready"), marker_},
                      limits, cancelled, sink);
  }

  absl::StatusOr<CommandResult> RunAndCancel(const std::string& script) {
    Cancellation cancelled;
    std::thread canceller([&] {
      while (!std::filesystem::exists(scratch_ / "ready")) std::this_thread::yield();
      EXPECT_FALSE(Alive(marker_).empty());
      begin_ = absl::Now();
      cancelled.Cancel();
    });
    absl::StatusOr<CommandResult> result = Run(script, {.time = absl::Minutes(5)}, cancelled);
    canceller.join();
    EXPECT_THAT(Alive(marker_), IsEmpty());
    RecordProperty("kill_ms", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - begin_)));
    return result;
  }

  Scratch scratch_;
  const std::string marker_;
  absl::Time begin_;
};

TEST_F(ProcessTest, CancellingKillsAChildThatForksAndIgnoresEverySignal) {
  EXPECT_THAT(RunAndCancel("trap '' TERM INT HUP QUIT; "
                           "(trap '' TERM; (sleep 1000; :) & sleep 1000; :) & "
                           "touch $READY; wait; wait"),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("was stopped")));
}

TEST_F(ProcessTest, CancellingKillsWhatMovedToASessionOfItsOwn) {
  EXPECT_THAT(RunAndCancel("setsid sh -c 'trap \"\" TERM; sleep 1000; :' & "
                           "setsid -f setsid -f sleep 1000; touch $READY; sleep 1000; :"),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("was stopped")));
}

TEST_F(ProcessTest, CancellingKillsADaemonThatWipedItsEnvironment) {
  // Its only trace is its argument, and its parent is gone.
  const std::string argument = absl::StrCat("1000.", getpid(), "25");
  const auto result =
      RunAndCancel(absl::StrCat("env -i /usr/bin/setsid -f /usr/bin/setsid -f /bin/sleep ",
                                argument, "; touch $READY; sleep 1000; :"));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, HasSubstr("was stopped")));
  EXPECT_THAT(Alive(argument), IsEmpty());
}

TEST_F(ProcessTest, NothingIsLeftOfAProgramThatEndsByItself) {
  const auto result = Run("setsid -f sleep 1000; sleep 1000 & echo done", {});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "done\n");
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_THAT(Alive(marker_), IsEmpty());
}

TEST_F(ProcessTest, AProgramThatTakesTooLongIsKilledWithItsSessions) {
  EXPECT_THAT(Run("setsid -f sleep 1000; sleep 1000; :", {.time = absl::Milliseconds(200)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 200ms")));
  EXPECT_THAT(Alive(marker_), IsEmpty());
}

TEST_F(ProcessTest, AForkBombStopsAtItsLimit) {
  // It doubles nine times and no more: were the limit broken, this must not take the machine.
  EXPECT_THAT(Run("bomb() { [ $1 = 0 ] || { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 60; }; "
                  "bomb 9; wait",
                  {.time = absl::Seconds(60), .processes = 30}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 30")));
  EXPECT_THAT(Alive(marker_), IsEmpty());
}

TEST_F(ProcessTest, AForkBombOfSessionsStopsAtItsLimit) {
  EXPECT_THAT(Run("for i in $(seq 500); do setsid -f sleep 1000; done; sleep 1000; :",
                  {.time = absl::Seconds(60), .processes = 30}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 30")));
  EXPECT_THAT(Alive(marker_), IsEmpty());
}

TEST_F(ProcessTest, ProcessesThatComeAndGoAreNoTooMany) {
  const auto result = Run("i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done; echo done",
                          {.time = absl::Seconds(60), .processes = 5});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "done\n");
}

TEST_F(ProcessTest, MemoryIsBounded) {
  const auto result =
      RunProcess({"dd", "if=/dev/zero", "of=/dev/null", "bs=400M", "count=1"}, "/usr/bin:/bin",
                 {marker_}, {.time = absl::Seconds(60), .memory = std::int64_t{200} << 20});
  ASSERT_THAT(result, IsOk());
  EXPECT_NE(result->exit_code, 0);
  EXPECT_THAT(result->err, HasSubstr("memory"));
}

TEST_F(ProcessTest, GigabytesOfErrorsAreNotKept) {
  const auto result =
      Run("cat /dev/zero >&2", {.time = absl::Seconds(60), .output = std::size_t{64} << 10});
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->err.size(), std::size_t{64} << 10);
  EXPECT_EQ(result->exit_code, 128 + SIGKILL);
}

TEST_F(ProcessTest, OutputIsToldAsItComes) {
  // The program goes on only after its first line was seen.
  std::string seen;
  const auto result =
      Run("echo one; while [ ! -e $READY ]; do sleep 0.01; done; echo two",
          {.time = absl::Seconds(60)}, Cancellation::Never(), [&](absl::string_view piece) {
            absl::StrAppend(&seen, piece);
            std::ofstream(scratch_ / "ready") << "x";
          });
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(seen, "one\ntwo\n");
  EXPECT_EQ(result->out, seen);
}

TEST_F(ProcessTest, AProgramThatKillsItsGuardIsAnErrorAndDiesWithIt) {
  const auto result = Run("kill -9 $PPID; sleep 1000; :", {.time = absl::Seconds(60)});
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kInternal, HasSubstr("was killed")));
  while (!Alive(marker_).empty()) std::this_thread::yield();
}

TEST_F(ProcessTest, AProgramThatStopsItsGuardIsKilledWithAllItStarted) {
  EXPECT_THAT(Run("setsid -f sleep 1000; kill -STOP $PPID; sleep 1000; :",
                  {.time = absl::Milliseconds(200)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("within 200ms"), Not(HasSubstr("stuck")))));
  EXPECT_THAT(Alive(marker_), IsEmpty());
}

TEST_F(ProcessTest, AProgramWhoseFileSystemDoesNotAnswerIsStoppedBeforeItHasBegun) {
  std::filesystem::copy_file("/bin/sleep", scratch_ / "program");
  const testing::LeasedFile program(scratch_ / "program");
  if (!program.held()) GTEST_SKIP() << "no leases here";
  EXPECT_THAT(
      RunProcess({scratch_ / "program", "1000"}, "", {marker_}, {.time = absl::Milliseconds(200)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr("within 200ms"), Not(HasSubstr("stuck")))));
}

TEST_F(ProcessTest, WhatTheProgramDidNotStartLivesOn) {
  // A child of ours and one that lost its parent, each in a session of its own.
  const pid_t ours = fork();
  if (ours == 0) {
    setsid();
    if (fork() != 0) pause();
    setsid();
    for (;;) pause();
  }
  ASSERT_GT(ours, 0);
  const std::string list = absl::StrCat("/proc/", ours, "/task/", ours, "/children");
  while (Content(list).empty()) std::this_thread::yield();
  const auto result = Run("setsid -f sleep 1000; sleep 1000 & echo done", {.processes = 50});
  EXPECT_THAT(result, IsOk());
  EXPECT_EQ(waitpid(ours, nullptr, WNOHANG), 0);
  EXPECT_EQ(kill(getppid(), 0), 0);
  const std::string children = Content(list);
  const pid_t grandchild = std::atoi(children.c_str());
  EXPECT_GT(grandchild, 1) << children;
  if (grandchild > 1) {
    EXPECT_EQ(kill(grandchild, SIGKILL), 0);
  }
  EXPECT_EQ(kill(ours, SIGKILL), 0);
  waitpid(ours, nullptr, 0);
}

// A lock that another thread holds at the time of the fork stays locked in the child for ever: the
// guard must not need one. Under AddressSanitizer, naming a thread takes a lock of all threads.
TEST_F(ProcessTest, AGuardNeedsNoLockThatAnotherThreadHolds) {
  std::atomic<bool> enough = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&enough] {
      while (!enough) {
        prctl(PR_SET_NAME, "busy", 0, 0, 0);
        std::thread([] {}).join();
      }
    });
  }
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    EXPECT_THAT(Run("true", {.time = absl::Seconds(20)}), IsOk());
  }
  enough = true;
  for (std::thread& other : others) other.join();
}

TEST_F(ProcessTest, NothingBeginsAfterACancellation) {
  Cancellation cancelled;
  cancelled.Cancel();
  EXPECT_THAT(Run("touch $READY", {}, cancelled),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("not begun")));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "ready"));
}

}  // namespace
}  // namespace galen::host
