#include "common/host/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/steady.h"
#include "common/host/bundle.h"
#include "common/host/live_host.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

using Argv = std::vector<std::string>;

// A machine that only gives the answers that the test sets.
class FakeMachine final : public Host {
 public:
  std::map<std::string, absl::StatusOr<CommandResult>> commands;  // by argv joined with spaces
  std::map<std::string, absl::StatusOr<std::string>> files;
  std::map<std::string, std::vector<std::string>> globs;
  absl::StatusOr<std::map<std::string, std::string>> environment = absl::UnavailableError("no job");
  std::string node = "n1";
  absl::Duration answers_after;

  const std::string& name() const override { return node; }
  bool live() const override { return true; }
  absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv, View) const override {
    for (const absl::Time end = SteadyNow() + answers_after; SteadyNow() < end;) {
    }
    const auto found = commands.find(absl::StrJoin(argv, " "));
    if (found == commands.end()) return absl::NotFoundError("not installed");
    return found->second;
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view path, View) const override {
    const auto found = files.find(std::string(path));
    if (found == files.end()) return absl::NotFoundError("does not exist");
    return found->second;
  }
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern, View) const override {
    const auto found = globs.find(std::string(pattern));
    if (found != globs.end()) return found->second;
    if (files.count(std::string(pattern)) > 0)
      return std::vector<std::string>{std::string(pattern)};
    return absl::NotFoundError("no such file");
  }
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override {
    return environment;
  }
};

CommandResult Printed(std::string out) {
  CommandResult result;
  result.out = std::move(out);
  return result;
}

CapturePlan PlanOf(absl::string_view text) {
  auto plan = ParseCapturePlan(text, "plan");
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *std::move(plan) : CapturePlan{};
}

TEST(Capture, WhatTheMachineSaysIsReadBackAsIs) {
  Scratch scratch;
  FakeMachine machine;
  machine.commands["uname -a"] = Printed(std::string("Linux\xff\0", 7));
  machine.commands["dmesg"] = absl::PermissionDeniedError("dmesg: may not be run by this user");
  machine.commands["nvidia-smi"] = absl::DeadlineExceededError("did not answer within 20s");
  machine.files["/proc/meminfo"] = "MemTotal: 1 kB\n";
  machine.files["/sys/x"] = absl::PermissionDeniedError("may not be read");
  const CapturePlan plan = PlanOf(
      "run uname -a\nrun dmesg\nrun nvidia-smi\nrun ibstat\n"
      "read /proc/{meminfo,swaps}\nread /sys/x\nread /sys/class/infiniband/*/fw_ver\n");
  CaptureOptions options;
  options.directory = scratch / "b";
  options.incident.set_description("slow");
  options.now = absl::FromUnixSeconds(1'740'000'000);
  const auto summary = Capture(machine, plan, options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->commands, 1);
  EXPECT_EQ(summary->absent, 1);
  EXPECT_EQ(summary->timed_out, 1);
  EXPECT_EQ(summary->files, 1);
  EXPECT_THAT(summary->refused, Contains(HasSubstr("dmesg: ")));
  EXPECT_THAT(summary->refused, Contains(HasSubstr("/sys/x: may not be read")));
  EXPECT_THAT(summary->redacted, IsEmpty());

  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ((*bundle)->incident().description(), "slow");
  EXPECT_THAT((*bundle)->nodes(), ElementsAre("n1"));
  const auto node = (*bundle)->OpenNode("n1");
  ASSERT_THAT(node, IsOk());
  const auto uname = (*node)->Run(Argv{"uname", "-a"});
  ASSERT_THAT(uname, IsOk());
  EXPECT_EQ(uname->out, std::string("Linux\xff\0", 7));
  EXPECT_EQ((*node)->Run(Argv{"ibstat"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*node)->Run(Argv{"dmesg"}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*node)->Run(Argv{"nvidia-smi"}).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT((*node)->ReadFile("/proc/meminfo"), IsOk());
  EXPECT_EQ((*node)->ReadFile("/proc/swaps").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*node)->ReadFile("/sys/x").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*node)->Glob("/sys/class/infiniband/*/fw_ver").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(Capture, SecretsDoNotLeaveTheMachine) {
  Scratch scratch;
  scratch.Write("train.log", "step 1\nAuthorization: Bearer sekret-1234\nstep 2\n");
  FakeMachine machine;
  machine.commands["ps"] = Printed("1 python --token sekret-1234 --lr 3\n");
  machine.files["/etc/x"] = "url http://u:sekret-1234@h/\n";
  machine.environment =
      std::map<std::string, std::string>{{"HF_TOKEN", "sekret-1234"},
                                         {"NCCL_DEBUG", "INFO"},
                                         {"http_proxy", "http://u:sekret-1234@h/"}};
  auto plan = LoadCapturePlan(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt"));
  ASSERT_THAT(plan, IsOk());
  plan->commands = {{{"ps"}, View::kHost}};
  plan->files = {{"/etc/x", View::kHost}};
  CaptureOptions options;
  options.directory = scratch / "b";
  options.logs = {{scratch / "train.log", {.node = "n1"}}};
  const auto summary = Capture(machine, *plan, options);
  ASSERT_THAT(summary, IsOk());
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch / "b")) {
    if (!file.is_regular_file()) continue;
    const std::string name = file.path().string().substr(scratch.path().size() + 1);
    EXPECT_THAT(scratch.Read(name), Not(HasSubstr("sekret"))) << name;
  }
  EXPECT_EQ(scratch.Read("b/logs/train.log"), "step 1\nAuthorization: Bearer [redacted]\nstep 2\n");
  EXPECT_THAT(
      summary->redacted,
      ElementsAre("nodes/n1/c/001.txt: 1 secret argument", "nodes/n1/rootfs/etc/x: 1 URL password",
                  "nodes/n1/job/env.yaml: HF_TOKEN", "nodes/n1/job/env.yaml: 1 URL password",
                  "logs/train.log: 1 authorization header"));
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  const auto variables = (*(*bundle)->OpenNode("n1"))->JobEnvironment();
  ASSERT_THAT(variables, IsOk());
  EXPECT_THAT(*variables, Contains(Pair("NCCL_DEBUG", "INFO")));
  EXPECT_THAT(*variables, Contains(Pair("HF_TOKEN", "[redacted]")));
}

TEST(Capture, RepeatsEntriesForTheDevicesOfTheMachine) {
  Scratch scratch;
  FakeMachine machine;
  machine.globs["/sys/class/net/*/device"] = {"/sys/class/net/eth0/device",
                                              "/sys/class/net/-evil/device"};
  machine.globs["/sys/class/infiniband/*"] = {"/sys/class/infiniband/mlx5_0"};
  machine.globs["/sys/block/*/device"] = {"/sys/block/nvme0n1/device"};
  for (const char* const command : {"ethtool eth0", "ethtool -evil", "mlxlink -d mlx5_0",
                                    "smartctl /dev/nvme0n1", "getent n1", "getent n2"}) {
    machine.commands[command] = Printed(command);
  }
  CaptureOptions options;
  options.directory = scratch / "b";
  options.values["peer"] = {"n2"};
  const auto summary =
      Capture(machine,
              PlanOf("run ethtool <netdev>\nrun mlxlink -d <hca>\nrun smartctl <disk>\n"
                     "run getent <host>\nrun getent <peer>\nrun kubectl <pod>\n"),
              options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->commands, 5);
  EXPECT_EQ(summary->absent, 0);
}

// A command that hangs must not cost the ones after it.
TEST(Capture, WhatWasNotBegunInTimeIsNamedAndNotTakenForHanging) {
  Scratch scratch;
  FakeMachine machine;
  machine.commands["uname -a"] = Printed("Linux");
  machine.files["/proc/meminfo"] = "MemTotal: 1 kB\n";
  CaptureOptions options;
  options.directory = scratch / "b";
  options.begin_by = absl::InfinitePast();
  const auto summary = Capture(machine, PlanOf("run uname -a\nread /proc/meminfo\n"), options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->commands, 0);
  EXPECT_EQ(summary->files, 0);
  EXPECT_EQ(summary->timed_out, 0);
  EXPECT_THAT(summary->refused, Contains(HasSubstr("uname -a: not begun")));
  EXPECT_THAT(summary->refused, Contains(HasSubstr("/proc/meminfo: not begun")));
  EXPECT_THAT(summary->refused, Contains(HasSubstr("environment of the job: not begun")));
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  const auto node = (*bundle)->OpenNode("n1");
  ASSERT_THAT(node, IsOk());
  EXPECT_THAT((*node)->Run(Argv{"uname", "-a"}), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST(Capture, OfWhatHungItSaysForHowLong) {
  Scratch scratch;
  FakeMachine machine;
  machine.answers_after = absl::Milliseconds(3);
  machine.commands["lspci"] = absl::DeadlineExceededError("did not answer");
  CaptureOptions options;
  options.directory = scratch / "b";
  ASSERT_THAT(Capture(machine, PlanOf("run lspci\n"), options), IsOk());
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  const auto node = (*bundle)->OpenNode("n1");
  ASSERT_THAT(node, IsOk());
  EXPECT_THAT((*node)->Run(Argv{"lspci"}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, Not(HasSubstr("within 0 "))));
}

TEST(Capture, TakesOutTheCustomersPathsWhereThatIsAsked) {
  for (const bool asked : {false, true}) {
    Scratch scratch;
    FakeMachine machine;
    machine.commands["ps"] = Printed("python3 /home/ann/secret-project/train.py --out s3://acme/x");
    CaptureOptions options;
    options.directory = scratch / "b";
    options.redact_paths = asked;
    const auto summary = Capture(
        machine, PlanOf("run ps\nredact-path home /home/(\\S+)\nredact-path bucket s3://(\\S+)\n"),
        options);
    ASSERT_THAT(summary, IsOk());
    const auto bundle = Bundle::Open(scratch / "b");
    ASSERT_THAT(bundle, IsOk());
    const auto ps = (*(*bundle)->OpenNode("n1"))->Run(Argv{"ps"});
    ASSERT_THAT(ps, IsOk());
    EXPECT_EQ(ps->out, asked ? "python3 /home/[redacted] --out s3://[redacted]"
                             : "python3 /home/ann/secret-project/train.py --out s3://acme/x");
    EXPECT_EQ(summary->redacted.empty(), !asked);
  }
}

TEST(Capture, WhatTheCustomerWroteAndTheNamesOfLogsAreCleanedToo) {
  Scratch scratch;
  scratch.Write("hf_abcdefghijklmnopqrstuvwx.log", "step 1\n");
  CaptureOptions options;
  options.directory = scratch / "b";
  options.incident.set_description("slow: python --token sekret-1234, see /home/ann/x");
  (*options.incident.mutable_workload()->mutable_attributes())["api_key"] = "sekret-1234";
  (*options.incident.mutable_environment()->mutable_attributes())["proxy"] =
      "http://u:sekret-1234@h/";
  options.logs = {{scratch / "hf_abcdefghijklmnopqrstuvwx.log", {}}};
  options.redact_paths = true;
  auto plan = LoadCapturePlan(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt"));
  ASSERT_THAT(plan, IsOk());
  plan->commands.clear();
  plan->files.clear();
  const auto summary = Capture(FakeMachine(), *plan, options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(scratch.Read("b/incident.yaml"), Not(HasSubstr("sekret")));
  EXPECT_THAT(scratch.Read("b/incident.yaml"), Not(HasSubstr("hf_a")));
  EXPECT_EQ(scratch.Read("b/logs/redacted.log"), "step 1\n");
  EXPECT_THAT(summary->redacted, Contains(HasSubstr("incident.yaml: ")));
  EXPECT_THAT(summary->redacted, Contains("logs/redacted.log: 1 Hugging Face token"));
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ((*bundle)->incident().description(),
            "slow: python --token [redacted] see /home/[redacted]");
}

// Logs are read in blocks of 8 MiB.
TEST(Capture, AKeyThatABlockOfALogEndsInIsTakenOutWhole) {
  Scratch scratch;
  std::string log;
  while (log.size() < (std::size_t{8} << 20) - 100) log += "step 1\n";
  log += "-----BEGIN RSA PRIVATE KEY-----\n";
  for (int line = 0; line < 48; ++line) log += std::string(64, 'k') + "\n";
  log += "-----END RSA PRIVATE KEY-----\nstep 2\n";
  scratch.Write("train.log", log);
  auto plan = LoadCapturePlan(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt"));
  ASSERT_THAT(plan, IsOk());
  plan->commands.clear();
  plan->files.clear();
  CaptureOptions options;
  options.directory = scratch / "b";
  options.logs = {{scratch / "train.log", {}}};
  ASSERT_THAT(Capture(FakeMachine(), *plan, options), IsOk());
  const std::string clean = scratch.Read("b/logs/train.log");
  EXPECT_EQ(clean.find("kkkk"), std::string::npos);
  EXPECT_EQ(clean.substr(clean.rfind("-----BEGIN")),
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nstep 2\n");
}

TEST(Capture, AFileWhoseNameIsTooLongForTheBundleIsRefusedAlone) {
  Scratch scratch;
  FakeMachine machine;
  const std::string longest = "/tmp/" + std::string(255, 'a');
  const std::string longer = "/tmp/" + std::string(256, 'a');
  machine.globs["/tmp/*"] = {longest, longer, "/tmp/b"};
  for (const std::string& path : machine.globs["/tmp/*"]) machine.files[path] = "x\n";
  CaptureOptions options;
  options.directory = scratch / "b";
  const auto summary = Capture(machine, PlanOf("read /tmp/*\n"), options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->files, 2);
  EXPECT_THAT(summary->refused, Contains(HasSubstr("its name is too long")));
  EXPECT_EQ(scratch.Read("b/nodes/n1/rootfs" + longest), "x\n");
  EXPECT_EQ(scratch.Read("b/nodes/n1/rootfs/tmp/b"), "x\n");
}

// As pids.max of a container refuses one.
TEST(Capture, GoesOnWhereThereIsNoRoomForAThread) {
  Scratch scratch;
  chmod(scratch.path().c_str(), 0777);
  const auto capture = [&] {
    constexpr int kNobody = 65534;
    const rlimit none = {0, 0};
    if ((geteuid() == 0 && setuid(kNobody) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0) _exit(77);
    FakeMachine machine;
    machine.commands["uname -a"] = Printed("Linux");
    machine.commands["lscpu"] = Printed("CPU");
    CaptureOptions options;
    options.directory = scratch / "b";
    const auto summary = Capture(machine, PlanOf("run uname -a\nrun lscpu\n"), options);
    _exit(summary.ok() && summary->commands == 2 ? 0 : 1);
  };
  // 77: this user may not become another one.
  EXPECT_EXIT(
      capture(),
      [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
      },
      "");
}

TEST(Capture, RefusesADirectoryWithSomethingInIt) {
  Scratch scratch;
  scratch.Write("b/file", "x");
  CaptureOptions options;
  options.directory = scratch / "b";
  EXPECT_THAT(Capture(FakeMachine(), CapturePlan{}, options),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("choose a new directory")));
  EXPECT_EQ(scratch.Read("b/file"), "x");
}

TEST(Capture, RefusesAHostNameThatIsAPath) {
  Scratch scratch;
  FakeMachine machine;
  machine.node = "../../etc";
  CaptureOptions options;
  options.directory = scratch / "b";
  EXPECT_THAT(Capture(machine, CapturePlan{}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a valid host name")));
}

TEST(Capture, TakesThisMachineByTheWholeList) {
  Scratch scratch;
  const auto plan = LoadCapturePlan(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt"));
  ASSERT_THAT(plan, IsOk());
  LiveHost::Options live;
  live.name = "this";
  live.command.time = absl::Seconds(5);
  live.job_pid = getpid();
  const LiveHost machine(live);
  CaptureOptions options;
  options.directory = scratch / "b";
  options.values["job_pid"] = {absl::StrCat(getpid())};
  const auto summary = Capture(machine, *plan, options);
  ASSERT_THAT(summary, IsOk());
  EXPECT_GT(summary->commands, 0);
  EXPECT_GT(summary->files, 0);
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  const auto node = (*bundle)->OpenNode("this");
  ASSERT_THAT(node, IsOk());
  const auto uname = (*node)->Run(Argv{"uname", "-a"});
  ASSERT_THAT(uname, IsOk());
  EXPECT_THAT(uname->out, HasSubstr("Linux"));
  EXPECT_THAT((*node)->ReadFile("/proc/meminfo"), IsOk());
  EXPECT_THAT((*node)->ReadFile("/proc/self/limits", View::kJob), IsOk());
  EXPECT_THAT((*node)->JobEnvironment(), IsOk());
}

}  // namespace
}  // namespace galen::host
