#include "common/host/bundle_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/host/bundle.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Argv = std::vector<std::string>;

class BundleHostTest : public ::testing::Test {
 protected:
  BundleHostTest() {
    WriteBundle(scratch_,
                "- {argv: [uname, -a], exit: 0, stdout: c/001.txt, stderr: c/001.err, "
                "duration_ms: 25}\n"
                "- {argv: [ibstat], absent: true}\n"
                "- {argv: [lspci], exit: 1, stdout: c/404.txt, stderr: c/001.err}\n"
                "- {argv: [nvidia-smi, -q, -x], timed_out: true, duration_ms: 20000}\n"
                "- {argv: [uname, -a], exit: 7, stdout: c/404.txt, stderr: c/001.err}\n");
    scratch_.Write("nodes/n1/c/001.txt", std::string("Linux n1\xff\0 x\n", 12));
    scratch_.Write("nodes/n1/c/001.err", "");
    scratch_.Write("nodes/n1/rootfs/proc/meminfo", "MemTotal: 1 kB\n");
    scratch_.Write("nodes/n1/rootfs/sys/class/net/eth0/mtu", "1500\n");
    scratch_.Write("nodes/n1/rootfs/sys/class/net/eth1/mtu", "9000\n");
    scratch_.Write("nodes/n1/rootfs/sys/class/net/eth1/speed", "100000\n");
    scratch_.Write("nodes/n1/rootfs/.absent", "/sys/class/infiniband\n/etc/docker/daemon.json\n");
  }

  std::unique_ptr<Host> Node() {
    auto bundle = Bundle::Open(scratch_.path());
    EXPECT_THAT(bundle, IsOk());
    if (!bundle.ok()) return nullptr;
    auto node = (*bundle)->OpenNode("n1");
    EXPECT_THAT(node, IsOk());
    return node.ok() ? *std::move(node) : nullptr;
  }

  Scratch scratch_;
};

TEST_F(BundleHostTest, ServesACapturedCommandByteForByte) {
  const auto node = Node();
  EXPECT_EQ(node->name(), "n1");
  EXPECT_FALSE(node->live());
  const auto result = node->Run(Argv{"uname", "-a"});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, std::string("Linux n1\xff\0 x\n", 12));
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->duration, absl::Milliseconds(25));
  EXPECT_FALSE(result->truncated);
}

TEST_F(BundleHostTest, TellsAbsentFromNotCaptured) {
  const auto node = Node();
  EXPECT_THAT(
      node->Run(Argv{"ibstat"}),
      StatusIs(absl::StatusCode::kNotFound, "ibstat is not installed on n1 (captured as absent)"));
  EXPECT_THAT(node->Run(Argv{"rocm-smi"}),
              StatusIs(absl::StatusCode::kUnavailable, "\"rocm-smi\" was not captured on n1"));
  // Other arguments are another command, also for a known program.
  EXPECT_THAT(node->Run(Argv{"uname"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("uname")));
  EXPECT_THAT(node->Run(Argv{"ibstat", "-s"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ibstat -s")));
}

TEST_F(BundleHostTest, ACommandThatHungWhenCapturedHangsNobodyAgain) {
  EXPECT_THAT(Node()->Run(Argv{"nvidia-smi", "-q", "-x"}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "\"nvidia-smi -q -x\" did not answer within 20s on n1"));
}

TEST_F(BundleHostTest, AMissingOutputFileIsNamedWithARemedy) {
  EXPECT_THAT(Node()->Run(Argv{"lspci"}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("nodes/n1/c/404.txt: is missing"),
                             HasSubstr("nodes/n1/commands.yaml"), HasSubstr("put the file back"))));
}

TEST_F(BundleHostTest, TellsAbsentFilesFromThoseNotCaptured) {
  const auto node = Node();
  const auto meminfo = node->ReadFile("/proc/meminfo");
  ASSERT_THAT(meminfo, IsOk());
  EXPECT_EQ(*meminfo, "MemTotal: 1 kB\n");
  EXPECT_THAT(node->ReadFile("/etc/docker/daemon.json"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("does not exist on n1")));
  EXPECT_THAT(node->ReadFile("/sys/class/infiniband/mlx5_0/ports/1/state"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("does not exist on n1")));
  EXPECT_THAT(node->ReadFile("/etc/docker/daemon.json5"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was not captured on n1")));
  EXPECT_THAT(node->ReadFile("/etc"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/etc")));
}

TEST_F(BundleHostTest, RefusesPathsThatClimbOut) {
  const auto node = Node();
  EXPECT_THAT(node->ReadFile("/../../../etc/passwd"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"..\"")));
  EXPECT_THAT(node->ReadFile("proc/meminfo"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_THAT(node->Glob("/proc/../../*"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"..\"")));
}

TEST_F(BundleHostTest, FollowsNoLinkOutOfTheBundle) {
  Scratch outside;
  outside.Write("shadow", "root:x");
  std::filesystem::create_directories(scratch_ / "nodes/n1/rootfs/etc");
  std::filesystem::create_symlink(outside / "shadow", scratch_ / "nodes/n1/rootfs/etc/shadow");
  std::filesystem::create_directory_symlink(outside.path(), scratch_ / "nodes/n1/rootfs/opt");
  std::filesystem::create_symlink(outside / "shadow", scratch_ / "nodes/n1/c/404.txt");
  const auto node = Node();
  EXPECT_THAT(node->ReadFile("/etc/shadow"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("leaves the bundle")));
  EXPECT_THAT(node->ReadFile("/opt/shadow"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("leaves the bundle")));
  EXPECT_THAT(node->Run(Argv{"lspci"}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("leaves the bundle")));
  EXPECT_FALSE(node->Glob("/opt/*").ok());
}

TEST_F(BundleHostTest, FindsFilesByPattern) {
  const auto node = Node();
  EXPECT_THAT(
      node->Glob("/sys/class/net/*/mtu"),
      ::testing::Property(&absl::StatusOr<std::vector<std::string>>::value,
                          ElementsAre("/sys/class/net/eth0/mtu", "/sys/class/net/eth1/mtu")));
  const auto speeds = node->Glob("/sys/class/net/eth[0-9]/speed");
  ASSERT_THAT(speeds, IsOk());
  EXPECT_THAT(*speeds, ElementsAre("/sys/class/net/eth1/speed"));
  const auto top = node->Glob("/*");
  ASSERT_THAT(top, IsOk());
  EXPECT_THAT(*top, ElementsAre("/proc", "/sys"));
}

TEST_F(BundleHostTest, APatternWithoutMatchIsAbsentOnlyWhereTheParentIsKnown) {
  const auto node = Node();
  EXPECT_THAT(node->Glob("/sys/class/net/ib*"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such file on n1")));
  EXPECT_THAT(node->Glob("/sys/class/infiniband/*/ports/*/state"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such file on n1")));
  EXPECT_THAT(node->Glob("/sys/class/drm/card*"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was not captured on n1")));
  EXPECT_THAT(node->Glob("/sys/class/net/eth0/speed"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was not captured on n1")));
}

TEST_F(BundleHostTest, ADirectoryThatCannotBeReadIsNotEmpty) {
  const auto node = Node();
  chmod(scratch_.path().c_str(), 0755);
  chmod((scratch_ / "nodes/n1/rootfs/sys/class/net").c_str(), 0711);
  const AsNobody nobody;
  EXPECT_THAT(node->Glob("/sys/class/net/ib*"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was not captured on n1")));
}

TEST_F(BundleHostTest, TheJobHasItsOwnView) {
  const auto blind = Node();
  EXPECT_THAT(blind->Run(Argv{"uname", "-a"}, View::kJob),
              StatusIs(absl::StatusCode::kUnavailable, "the job on n1 was not captured"));
  EXPECT_THAT(blind->JobEnvironment(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("environment")));

  scratch_.Write("nodes/n1/job/env.yaml", "NCCL_DEBUG: INFO\nRANK: 3\n");
  scratch_.Write("nodes/n1/job/commands.yaml", "- {argv: [nvcc, --version], absent: true}\n");
  scratch_.Write("nodes/n1/job/rootfs/etc/os-release", "ID=ubuntu\n");
  const auto node = Node();
  const auto variables = node->JobEnvironment();
  ASSERT_THAT(variables, IsOk());
  EXPECT_THAT(*variables, ElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("RANK", "3")));
  EXPECT_THAT(node->Run(Argv{"nvcc", "--version"}, View::kJob),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("in the job on n1")));
  EXPECT_THAT(node->ReadFile("/etc/os-release", View::kJob), IsOk());
  EXPECT_THAT(node->ReadFile("/etc/os-release", View::kHost),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not captured")));
}

TEST_F(BundleHostTest, GivesTheLogsOfTheIncidentWithTheirOrigin) {
  EXPECT_EQ(Node()->JobLogs().status().code(), absl::StatusCode::kUnavailable);
  scratch_.Write("incident.yaml",
                 "description: d\n"
                 "logs:\n"
                 "  - {path: train.log, kind: job}\n"
                 "  - {path: missing.log, kind: job}\n"
                 "  - {path: rank3.log, node: n1, rank: 3, kind: job}\n");
  scratch_.Write("logs/train.log", "x\n");
  scratch_.Write("logs/rank3.log", "y\n");
  const auto logs = Node()->JobLogs();
  ASSERT_THAT(logs, IsOk());
  ASSERT_EQ(logs->size(), 2u);
  EXPECT_EQ((*logs)[0].name, "train.log");
  EXPECT_EQ((*logs)[0].node, "");
  EXPECT_EQ((*logs)[1].node, "n1");
  EXPECT_EQ((*logs)[1].rank, 3);
  EXPECT_EQ((*logs)[1].kind, "job");
  EXPECT_TRUE(std::filesystem::is_regular_file((*logs)[1].path));
}

TEST_F(BundleHostTest, NamesTheCapturedCommandsThatBeginSo) {
  EXPECT_THAT(Node()->Captured({"uname"}, View::kHost), ElementsAre(Argv{"uname", "-a"}));
  // Known not to be installed, so never run.
  EXPECT_THAT(Node()->Captured({"ibstat"}, View::kHost), ElementsAre());
  EXPECT_THAT(Node()->Captured({"uname"}, View::kJob), ElementsAre());
}

TEST_F(BundleHostTest, CutsAnOutputThatIsTooLong) {
  scratch_.Write("nodes/n1/c/001.txt", std::string((8u << 20) + 1, 'x'));
  const auto result = Node()->Run(Argv{"uname", "-a"});
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->out.size(), 8u << 20);
}

TEST_F(BundleHostTest, OutlivesTheHandleOfItsBundleAndServesManyThreads) {
  const auto node = Node();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&node] {
      for (int j = 0; j < 20; ++j) {
        EXPECT_THAT(node->Run(Argv{"uname", "-a"}), IsOk());
        EXPECT_THAT(node->Glob("/sys/class/net/*/mtu"), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace galen::host
