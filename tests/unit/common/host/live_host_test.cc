#include "common/host/live_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "scratch.h"
#include "tests/testing/leased_file.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::LeasedFile;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

using Argv = std::vector<std::string>;

LiveHost::Options Fast() {
  LiveHost::Options options;
  options.name = "n1";
  options.command.time = absl::Seconds(20);
  return options;
}

// The number that a script wrote to `path`, waiting for it.
pid_t WrittenPid(const Scratch& scratch, const std::string& name) {
  const absl::Time end = absl::Now() + absl::Seconds(10);
  int pid = 0;
  while (absl::Now() < end && !absl::SimpleAtoi(scratch.Read(name), &pid))
    std::this_thread::yield();
  return pid;
}

// Waits until the process is gone or a zombie of another parent.
bool Dies(pid_t pid) {
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (absl::Now() < end) {
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
    std::string number, name, state;
    stat >> number >> name >> state;
    if (state == "Z" || state.empty()) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST(LiveHost, RunsAProgramWithoutAShell) {
  const LiveHost host(Fast());
  EXPECT_TRUE(host.live());
  EXPECT_EQ(host.name(), "n1");
  const auto result = static_cast<const Host&>(host).Run(Argv{"echo", "$HOME; *"});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "$HOME; *\n");
  EXPECT_EQ(result->exit_code, 0);
}

TEST(LiveHost, TellsBothStreamsAndHowTheProgramEnded) {
  const LiveHost host(Fast());
  const auto failed = host.Run(Argv{"sh", "-c", "echo out; echo err >&2; exit 7"}, View::kHost);
  ASSERT_THAT(failed, IsOk());
  EXPECT_EQ(failed->out, "out\n");
  EXPECT_EQ(failed->err, "err\n");
  EXPECT_EQ(failed->exit_code, 7);
  const auto killed = host.Run(Argv{"sh", "-c", "kill -9 $$"}, View::kHost);
  ASSERT_THAT(killed, IsOk());
  EXPECT_EQ(killed->exit_code, 128 + SIGKILL);
}

TEST(LiveHost, GivesProgramsAnEmptyInputAndNothingOfItsEnvironment) {
  setenv("GALEN_TEST_SECRET", "s3cret", 1);
  const LiveHost host(Fast());
  const auto variables = host.Run(Argv{"env"}, View::kHost);
  unsetenv("GALEN_TEST_SECRET");
  ASSERT_THAT(variables, IsOk());
  EXPECT_THAT(variables->out,
              AllOf(HasSubstr("PATH="), HasSubstr("LC_ALL=C"), HasSubstr("HOME="),
                    HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"), Not(HasSubstr("s3cret"))));
  const auto input = host.Run(Argv{"cat"}, View::kHost);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->out, "");
}

TEST(LiveHost, KeepsBytesThatAreNoText) {
  const LiveHost host(Fast());
  const auto result = host.Run(Argv{"printf", "a\\377\\000b"}, View::kHost);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, std::string("a\xff\0b", 4));
}

TEST(LiveHost, AProgramThatIsNotThereIsNotInstalled) {
  const LiveHost host(Fast());
  EXPECT_THAT(
      host.Run(Argv{"galen-no-such-program", "-q"}, View::kHost),
      StatusIs(absl::StatusCode::kNotFound, "galen-no-such-program is not installed on n1"));
  EXPECT_THAT(host.Run(Argv{"/nowhere/program"}, View::kHost),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is not installed")));
  EXPECT_THAT(host.Run(Argv{}, View::kHost),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("argv is empty")));
}

TEST(LiveHost, AFileThatIsNoProgramIsRefused) {
  Scratch scratch;
  scratch.Write("tool", "not executable");
  scratch.Write("junk", std::string("\x7f\x00\x01", 3));
  chmod((scratch / "junk").c_str(), 0755);
  LiveHost::Options options = Fast();
  options.search_path = scratch.path();
  const LiveHost host(options);
  EXPECT_THAT(host.Run(Argv{"tool"}, View::kHost),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("tool")));
  EXPECT_THAT(host.Run(Argv{"junk"}, View::kHost),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cannot be run")));
}

TEST(LiveHost, AProgramWhoseInterpreterIsMissingIsInstalled) {
  Scratch scratch;
  scratch.Write("tool", "#!/nowhere/python\n");
  chmod((scratch / "tool").c_str(), 0755);
  LiveHost::Options options = Fast();
  options.search_path = scratch.path();
  const LiveHost host(options);
  for (const std::string& program : {std::string("tool"), scratch / "tool"}) {
    EXPECT_THAT(
        host.Run(Argv{program}, View::kHost),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("interpreter or loader")));
  }
}

TEST(LiveHost, AProgramThatHangsIsKilledWithAllItStarted) {
  Scratch scratch;
  LiveHost::Options options = Fast();
  options.command.time = absl::Milliseconds(500);
  const LiveHost host(options);
  // A child that ignores SIGTERM and holds the output open, as a stuck driver call would.
  const std::string script =
      absl::StrCat("trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! > ", scratch / "child",
                   "; echo $$ > ", scratch / "parent", "; exec sleep 1000");
  EXPECT_THAT(host.Run(Argv{"sh", "-c", script}, View::kHost),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("did not answer within 500ms on n1")));
  const pid_t child = WrittenPid(scratch, "child");
  const pid_t parent = WrittenPid(scratch, "parent");
  ASSERT_GT(child, 0);
  ASSERT_GT(parent, 0);
  EXPECT_TRUE(Dies(child));
  EXPECT_TRUE(Dies(parent));
}

TEST(LiveHost, WhatAProgramLeavesBehindDoesNotHoldItUp) {
  Scratch scratch;
  const LiveHost host(Fast());
  const std::string script =
      absl::StrCat("sleep 1000 & echo $! > ", scratch / "child", "; echo done");
  const auto result = host.Run(Argv{"sh", "-c", script}, View::kHost);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "done\n");
  const pid_t child = WrittenPid(scratch, "child");
  ASSERT_GT(child, 0);
  EXPECT_TRUE(Dies(child));
}

TEST(LiveHost, EndlessOutputIsTruncatedAndItsProgramKilled) {
  LiveHost::Options options = Fast();
  options.command.output = 10'000;
  const LiveHost host(options);
  const auto result = host.Run(Argv{"yes"}, View::kHost);
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->out.size(), 10'000u);
  EXPECT_EQ(result->exit_code, 128 + SIGKILL);
}

TEST(LiveHost, OutputAlittleTooLongIsTruncatedButTheProgramEndsByItself) {
  LiveHost::Options options = Fast();
  options.command.output = 10'000;
  const LiveHost host(options);
  const auto result = host.Run(Argv{"head", "-c", "30000", "/dev/zero"}, View::kHost);
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->out.size(), 10'000u);
  EXPECT_EQ(result->exit_code, 0);
}

TEST(LiveHost, RunsACommandOnceHoweverManyAsk) {
  Scratch scratch;
  const LiveHost host(Fast());
  const Argv argv = {"sh", "-c", absl::StrCat("echo x >> ", scratch / "runs", "; echo $$")};
  std::vector<std::string> outputs(8);
  std::vector<std::thread> threads;
  for (std::string& output : outputs) {
    threads.emplace_back([&host, &argv, &output] {
      const auto result = host.Run(argv, View::kHost);
      if (result.ok()) output = result->out;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scratch.Read("runs"), "x\n");
  EXPECT_THAT(outputs, ::testing::Each(outputs.front()));
  EXPECT_THAT(outputs.front(), Not(::testing::IsEmpty()));
}

TEST(LiveHost, ReadsFilesOfTheMachine) {
  Scratch scratch;
  scratch.Write("conf", std::string("a\0b", 3));
  LiveHost::Options options = Fast();
  const LiveHost host(options);
  const auto content = host.ReadFile(scratch / "conf", View::kHost);
  ASSERT_THAT(content, IsOk());
  EXPECT_EQ(*content, std::string("a\0b", 3));
  // Files of /proc say that they are empty and are not.
  const auto version = host.ReadFile("/proc/version", View::kHost);
  ASSERT_THAT(version, IsOk());
  EXPECT_THAT(*version, HasSubstr("Linux"));
  EXPECT_THAT(host.ReadFile(scratch / "gone", View::kHost),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("does not exist")));
  EXPECT_THAT(host.ReadFile(scratch.path(), View::kHost),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
  EXPECT_THAT(host.ReadFile("conf", View::kHost),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  options.read_bytes = 2;
  const auto cut = LiveHost(options).ReadFile(scratch / "conf", View::kHost);
  ASSERT_THAT(cut, IsOk());
  EXPECT_EQ(cut->size(), 2u);
}

TEST(LiveHost, NeitherPipesNorDevicesHoldUpARead) {
  Scratch scratch;
  ASSERT_EQ(mkfifo((scratch / "pipe").c_str(), 0600), 0);
  const LiveHost host(Fast());
  EXPECT_THAT(host.ReadFile(scratch / "pipe", View::kHost),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
  EXPECT_THAT(host.ReadFile("/dev/zero", View::kHost),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
}

TEST(LiveHost, AReadThatTakesTooLongIsLeftToItself) {
  LiveHost::Options options = Fast();
  options.read_time = absl::ZeroDuration();
  options.max_stuck_reads = 1'000'000;
  const LiveHost host(options);
  // Without any time the watchdog nearly always wins the race; the winner is not part of the claim.
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    const auto content = host.ReadFile("/proc/version", View::kHost);
    if (content.ok()) continue;
    // The read of the round before may not have ended yet.
    EXPECT_THAT(content,
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         AnyOf("/proc/version did not answer within 0 on n1",
                               "/proc/version has not answered since an earlier read on n1")));
    ++late;
  }
  EXPECT_GT(late, 0);
}

TEST(LiveHost, LookingForAProgramThatTakesTooLongIsLeftToItself) {
  LiveHost::Options options = Fast();
  options.read_time = absl::ZeroDuration();
  options.max_stuck_reads = 1'000'000;
  const LiveHost host(options);
  // As above: which of the two wins is not the claim.
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    const auto result =
        host.Run(Argv{absl::StrCat("galen-no-such-program-", i)}, View::kHost).status();
    if (absl::IsNotFound(result)) continue;
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded,
                                 absl::StrCat("the search for galen-no-such-program-", i,
                                              " did not answer within 0 on n1")));
    ++late;
  }
  EXPECT_GT(late, 0);
}

TEST(LiveHost, AFileThatIsStuckIsNotReadAgainByAnotherHostOfTheMachine) {
  const Scratch scratch;
  LeasedFile file(scratch.Write("state", "1\n"));
  if (!file.held()) GTEST_SKIP() << "no leases here";
  LiveHost::Options options = Fast();
  options.read_time = absl::Milliseconds(50);
  options.stuck_reads = std::make_shared<StuckReads>(1);
  EXPECT_THAT(LiveHost(options).ReadFile(scratch / "state", View::kHost),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 50ms")));
  options.read_time = absl::Seconds(60);
  const LiveHost other(options);
  EXPECT_THAT(other.ReadFile(scratch / "state", View::kHost),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("since an earlier read")));
  EXPECT_THAT(other.ReadFile("/proc/version", View::kHost),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 earlier reads")));
  // Programs are still searched for, and a file that answers again is read again.
  EXPECT_THAT(other.Run(Argv{"true"}, View::kHost), IsOk());
  file.GiveBack();
  absl::StatusOr<std::string> content = other.ReadFile(scratch / "state", View::kHost);
  while (absl::IsDeadlineExceeded(content.status())) {
    std::this_thread::yield();
    content = other.ReadFile(scratch / "state", View::kHost);
  }
  ASSERT_THAT(content, IsOk());
  EXPECT_EQ(*content, "1\n");
}

TEST(LiveHost, AStuckJobKeepsNobodyFromTheMachine) {
  const Scratch scratch;
  LeasedFile file(scratch.Write("state", "1\n"));
  if (!file.held()) GTEST_SKIP() << "no leases here";
  LiveHost::Options options = Fast();
  options.read_time = absl::Milliseconds(50);
  options.max_stuck_reads = 1;
  options.job_pid = getpid();
  const LiveHost host(options);
  const auto stuck = host.ReadFile(scratch / "state", View::kJob);
  if (absl::IsUnavailable(stuck.status())) GTEST_SKIP() << stuck.status().message();
  EXPECT_THAT(stuck, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 50ms")));
  EXPECT_THAT(host.ReadFile("/proc/self/limits", View::kJob),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("are stuck")));
  const auto own = host.ReadFile("/proc/version", View::kHost);
  EXPECT_FALSE(absl::IsResourceExhausted(own.status())) << own.status();
}

TEST(LiveHost, TooManyStuckReadsRefuseFurtherOnes) {
  LiveHost::Options options = Fast();
  options.max_stuck_reads = 0;
  const LiveHost host(options);
  EXPECT_THAT(host.ReadFile("/proc/version", View::kHost),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("are stuck")));
}

TEST(LiveHost, FilesThatMayNotBeReadAreNotAbsent) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Scratch scratch;
  scratch.Write("secret", "x");
  chmod((scratch / "secret").c_str(), 0);
  const LiveHost host(Fast());
  EXPECT_THAT(host.ReadFile(scratch / "secret", View::kHost),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("may not be read")));
}

TEST(LiveHost, FindsFilesByPattern) {
  Scratch scratch;
  scratch.Write("b/state", "");
  scratch.Write("a/state", "");
  scratch.Write("a/rate", "");
  const LiveHost host(Fast());
  const auto found = host.Glob(scratch / "*/state", View::kHost);
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(*found, ElementsAre(scratch / "a/state", scratch / "b/state"));
  EXPECT_THAT(host.Glob(scratch / "c*", View::kHost),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such file")));
}

TEST(LiveHost, WhatAPatternMayNotSeeIsNotAbsent) {
  Scratch scratch;
  scratch.Write("closed/dri/state", "");
  scratch.Write("card0/closed/state", "");
  for (const char* const open : {"", "card0"}) chmod((scratch / open).c_str(), 0755);
  for (const char* const closed : {"closed", "card0/closed"}) chmod((scratch / closed).c_str(), 0);
  const LiveHost host(Fast());
  const AsNobody nobody;
  for (const char* const pattern :
       {"closed/*", "closed/dri/*", "closed/dri/state", "*/closed/state", "*/closed/*"}) {
    EXPECT_THAT(host.Glob(scratch / pattern, View::kHost),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("may not be read")))
        << pattern;
  }
  for (const char* const pattern : {"open/*", "card*/no", "card0/no/state", "no"}) {
    EXPECT_THAT(host.Glob(scratch / pattern, View::kHost),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such file")))
        << pattern;
  }
}

TEST(LiveHost, TheLogsOfAProcessOfAnotherUserAreNotNone) {
  LiveHost::Options options = Fast();
  options.job_pid = 1;
  const AsNobody nobody;
  if (access("/proc/1/fd/1", F_OK) == 0) GTEST_SKIP() << "process 1 is one's own";
  EXPECT_THAT(LiveHost(options).JobLogs(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("may not be seen")));
}

TEST(LiveHost, LogsThatSomebodyNamedAreTheJobs) {
  LiveHost::Options options = Fast();
  options.logs = {
      {.name = "train.log", .path = "/logs/train.log", .node = "", .rank = {}, .kind = "job"}};
  const auto logs = LiveHost(options).JobLogs();
  ASSERT_THAT(logs, IsOk());
  ASSERT_EQ(logs->size(), 1U);
  EXPECT_EQ(logs->front().path, "/logs/train.log");
}

TEST(LiveHost, AProcessThatIsGoneIsSaidToBe) {
  LiveHost::Options options = Fast();
  options.job_pid = 1 << 30;  // beyond any pid_max
  EXPECT_THAT(LiveHost(options).JobLogs(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone")));
  // Files of the job that is gone are unavailable, and not known to be absent.
  EXPECT_THAT(LiveHost(options).ReadFile("/proc/self/limits", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone")));
  EXPECT_THAT(LiveHost(options).ReadFile("/etc/os-release", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone")));
  EXPECT_THAT(LiveHost(options).Glob("/proc/self/limits", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone")));
  EXPECT_THAT(LiveHost(options).Glob("/tmp/*", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is gone")));
}

TEST(LiveHost, BeginsNoCommandWhenTheTimeForCommandsIsOver) {
  const Scratch scratch;
  LiveHost::Options options = Fast();
  options.commands_by = absl::InfinitePast();
  const LiveHost host(options);
  EXPECT_THAT(host.Run(Argv{"touch", scratch / "begun"}, View::kHost),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("the time for commands on n1")));
  EXPECT_FALSE(std::filesystem::exists(scratch / "begun"));
}

TEST(LiveHost, ACommandThatHadLessThanItsTimeIsNotSaidToHang) {
  LiveHost::Options options = Fast();
  options.command.time = absl::Hours(1);
  options.commands_by = SteadyNow() + absl::Milliseconds(100);
  EXPECT_THAT(LiveHost(options).Run(Argv{"sleep", "1000"}, View::kHost),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("not finished")));
}

TEST(LiveHost, KnowsNothingOfAJobWithoutAProcess) {
  const LiveHost host(Fast());
  EXPECT_THAT(host.JobEnvironment(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("n1")));
  EXPECT_THAT(host.ReadFile("/etc/hosts", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("n1")));
  EXPECT_THAT(host.Glob("/etc/*", View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("n1")));
  EXPECT_THAT(host.Run(Argv{"true"}, View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("inside the job")));
}

TEST(LiveHost, SeesTheJobThroughItsProcess) {
  LiveHost::Options options = Fast();
  options.job_pid = getpid();
  const LiveHost host(options);
  const auto variables = host.JobEnvironment();
  ASSERT_THAT(variables, IsOk());
  EXPECT_THAT(*variables, Contains(Pair("PATH", std::string(getenv("PATH")))));
  const auto limits = host.ReadFile("/proc/self/limits", View::kJob);
  ASSERT_THAT(limits, IsOk());
  EXPECT_THAT(*limits, HasSubstr("Max open files"));
  const auto found = host.Glob("/proc/version", View::kJob);
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(*found, ElementsAre("/proc/version"));
}

TEST(LiveHost, LinksInsideTheJobsRootDoNotLeaveIt) {
  Scratch scratch;
  scratch.Write("file", "own");
  std::filesystem::create_symlink("file", scratch / "link");
  LiveHost::Options options = Fast();
  options.job_pid = getpid();
  const auto content = LiveHost(options).ReadFile(scratch / "link", View::kJob);
  if (absl::IsUnavailable(content.status())) GTEST_SKIP() << content.status().message();
  ASSERT_THAT(content, IsOk());
  EXPECT_EQ(*content, "own");
}

}  // namespace
}  // namespace galen::host
