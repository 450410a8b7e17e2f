#include "services/node/checks/system/kernel_log.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "real_knowledge.h"
#include "services/node/checks/system/cgroups.h"
#include "services/node/checks/system/device_names.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"

namespace galen::node {
namespace kernel_log_test {

using ::galen::testing::FakeHost;

constexpr char kDmesg[] = "dmesg --time-format iso";
constexpr char kSmi[] = "nvidia-smi -q -x";
constexpr char kTwoGpus[] =
    "<nvidia_smi_log><gpu id=\"00000000:17:00.0\"></gpu><gpu id=\"00000000:5E:00.0\"></gpu>"
    "</nvidia_smi_log>";

TEST(KernelLog, AnXidIsOfTheGpuAtItsAddress) {
  FakeHost host;
  host.AddCommand(kSmi, kTwoGpus);
  host.AddCommand(kDmesg,
                  "2024-05-06T07:08:09,5+00:00 NVRM: Xid (PCI:0000:5e:00): 48, DBE\n"
                  "2024-05-06T07:08:10,5+00:00 NVRM: Xid (PCI:0000:5e:00): 63, remap\n");
  const auto output = CheckKernelLog({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "xid", "gpu:1"), "48*1");
  EXPECT_EQ(ValueOf(*output, "first_event", "gpu:1"), "xid48*1");
  EXPECT_EQ(ValueOf(*output, "sxid"), "*0");
  EXPECT_EQ(output->findings[0].subject().pci_address(), "0000:5e:00.0");
  EXPECT_EQ(output->findings[0].event_value().time().seconds(), 1714979289);
  EXPECT_EQ(output->findings[0].event_value().time().nanos(), 500000000);
}

TEST(KernelLog, IsNotReadAsQuietWhereTheKnowledgeKnowsNoLine) {
  FakeHost host;
  host.AddCommand(kDmesg, "NVRM: Xid (PCI:0000:5e:00): 48, DBE\n");
  EXPECT_EQ(CheckKernelLog({host, NoKnowledge()}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(KernelLog, WithoutTheManagementToolTheDriversOrderNumbersGpus) {
  FakeHost host;
  host.AddFile("/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: x");
  host.AddFile("/proc/driver/nvidia/gpus/0000:5e:00.0/information", "Model: x");
  EXPECT_EQ(DeviceAt(DeviceNames(host), "0000:5e:00.0"), "gpu:1");
  EXPECT_EQ(DeviceAt(DeviceNames(host), "0000:99:00.0"), "pci:0000:99:00.0");
  EXPECT_EQ(DeviceAt(DeviceNames(host), ""), "");
}

TEST(KernelLog, AQuietLogHasEveryFamilyAtNone) {
  FakeHost host;
  host.AddCommand(kDmesg, "2024-05-06T07:08:09,5+00:00 Linux version 5.15\n");
  const auto output = CheckKernelLog({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  for (const char* name : {"xid", "sxid", "amdgpu", "aer", "nvrm", "nic", "io_error", "oom_kill",
                           "lockup", "first_event"}) {
    EXPECT_EQ(ValueOf(*output, name), "*0") << name;
  }
}

TEST(KernelLog, ALogThatIsNotKnownIsNotQuiet) {
  FakeHost host;
  EXPECT_EQ(CheckKernelLog({host, RealKnowledge()}).status().code(),
            absl::StatusCode::kUnavailable);
  host.AddCommand(kDmesg, "", 1, "dmesg: read kernel buffer failed: Operation not permitted");
  EXPECT_EQ(CheckKernelLog({host, RealKnowledge()}).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(KernelLog, AProgramsOwnFaultIsNotTheFirstSignOfHardware) {
  FakeHost host;
  host.AddCommand(kDmesg,
                  "NVRM: Xid (PCI:0000:5e:00): 31, pid=1, name=python3, MMU Fault\n"
                  "NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus.\n");
  const auto output = CheckKernelLog({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "first_event", "pci:0000:5e:00.0"), "xid79*1");
}

TEST(KernelLog, AKillThatTheJobsGroupDoesNotCountIsOfAnother) {
  FakeHost host;
  host.AddCommand(kDmesg,
                  "Memory cgroup out of memory: Killed process 7 (exporter) total-vm:1kB\n");
  EXPECT_EQ(ValueOf(*CheckKernelLog({host, RealKnowledge()}), "oom_kill", "process:7"),
            "memcg:exporter*1");
  host.AddFile("/sys/fs/cgroup/job.scope/memory.max", "max\n");
  host.AddFile("/sys/fs/cgroup/job.scope/memory.events", "oom_kill 0\n");
  EXPECT_EQ(ValueOf(*CheckKernelLog({host, RealKnowledge()}), "oom_kill", "process:7"),
            "other_group:exporter*1");
}

constexpr char kKillOf[] =
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=";

std::string KillIn(const std::string& group) {
  return kKillOf + group + ",task_memcg=" + group +
         "/x,task=python3,pid=7,uid=0\n"
         "Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB\n";
}

TEST(KernelLog, AKillByALimitOfTheJobIsTheJobsWhateverItsOwnGroupCounts) {
  const std::string step = "/system.slice/slurmstepd.scope/job_7/step_0";
  for (const auto& [group, code] : std::vector<std::pair<std::string, std::string>>{
           {step, "memcg:python3*1"},
           {"/system.slice/slurmstepd.scope/job_7", "memcg:python3*1"},
           {step + "/user/task_3", "memcg:python3*1"},
           {"/system.slice/slurmstepd.scope/job_77/step_0", "other_group:python3*1"},
           {"/system.slice/exporter.service", "other_group:python3*1"},
       }) {
    FakeHost host;
    host.SetLive(true);
    host.AddCommand(kDmesg, KillIn(group));
    host.AddFile("/proc/self/cgroup", "0::" + step + "/user/task_0\n", host::View::kJob);
    host.AddFile("/sys/fs/cgroup" + step + "/user/task_0/memory.events", "oom_kill 0\n");
    EXPECT_EQ(ValueOf(*CheckKernelLog({host, RealKnowledge()}), "oom_kill", "process:7"), code)
        << group;
    FakeHost bundle;
    bundle.AddCommand(kDmesg, KillIn(group));
    for (const char* file : {"memory.max", "memory.events"}) {
      bundle.AddFile("/sys/fs/cgroup" + step + "/user/task_0/" + file, "oom_kill 0\n");
    }
    EXPECT_EQ(ValueOf(*CheckKernelLog({bundle, RealKnowledge()}), "oom_kill", "process:7"), code)
        << group;
  }
}

TEST(KernelLog, OneLiveGroupThatCountsNoKillDoesNotGiveANamelessOneAway) {
  FakeHost host;
  host.SetLive(true);
  host.AddCommand(kDmesg, "Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB\n");
  host.AddFile("/proc/self/cgroup", "0::/a/b/c/d\n", host::View::kJob);
  host.AddFile("/sys/fs/cgroup/a/b/c/d/memory.events", "oom_kill 0\n");
  EXPECT_EQ(ValueOf(*CheckKernelLog({host, RealKnowledge()}), "oom_kill", "process:7"),
            "memcg:python3*1");
}

TEST(KernelLog, GroupsAreComparedAsTheKernelNamesThemOnly) {
  FakeHost host;
  host.SetLive(true);
  host.AddFile("/proc/self/cgroup",
               "9:cpu,memory:/slurm/uid_0/job_1/step_0\n8:cpuset:/slurm/x\n1:name=systemd:/s\n",
               host::View::kJob);
  EXPECT_THAT(JobMemoryGroups(host), ::testing::ElementsAre("/slurm/uid_0/job_1/step_0"));
  // As one namespace sees a group of another one.
  host.AddFile("/proc/self/cgroup", "0::/../../pod/x\n", host::View::kJob);
  EXPECT_THAT(JobMemoryGroups(host), ::testing::IsEmpty());
}

TEST(KernelLog, ALimitOfAnotherPodBesideTheJobsIsNotItsOwn) {
  const std::string pods = "/kubepods.slice/kubepods-burstable.slice";
  const std::vector<std::string> container = {pods + "/pod1.slice/cri-a.scope"};
  EXPECT_TRUE(LimitsJob(pods + "/pod1.slice/cri-b.scope", container));
  EXPECT_FALSE(LimitsJob(pods + "/pod2.slice/cri-b.scope", container));
  EXPECT_FALSE(LimitsJob(pods + "/pod2.slice", {pods + "/pod1.slice"}));
  EXPECT_FALSE(LimitsJob("/system.slice/docker-2.scope", {"/system.slice/docker-1.scope"}));
}

TEST(KernelLog, AGpuThatRocmLeavesOutAndAnAdapterThatRefusesACommandAreErrors) {
  FakeHost host;
  host.AddCommand(
      kDmesg,
      "[    4.412345] kfd kfd: amdgpu: skipped device 1002:7550, PCI rejects atomics 730<0\n"
      "[ 8123.119988] efa 0000:00:06.0 efa_0: Failed to process command ALLOC_PD (opcode 14) "
      "comp_status 1 err -12\n");
  const CheckOutput output = *CheckKernelLog({host, RealKnowledge()});
  EXPECT_EQ(ValueOf(output, "amdgpu", ""), "no_pcie_atomics*1");
  EXPECT_EQ(ValueOf(output, "nic", "nic:efa_0"), "command_failed*1");
}

std::string Fixture(const std::string& name) {
  std::ifstream file(std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct RealLog {
  const char* file;
  EventFamily family;
  const char* code;
};

class RealKernelLogs : public ::testing::TestWithParam<RealLog> {};

TEST_P(RealKernelLogs, ShowWhatTheyAreNamedFor) {
  const std::string log = Fixture(GetParam().file);
  if (log.empty()) GTEST_SKIP() << GetParam().file << ": no fixtures beside the checkout";
  bool found = false;
  for (const KernelEvent& event : ScanKernelLog(log, *KernelPatterns::Of(RealKnowledge()))) {
    found |= event.family == GetParam().family && event.code == GetParam().code;
  }
  EXPECT_TRUE(found) << GetParam().file;
}

INSTANTIATE_TEST_SUITE_P(
    All, RealKernelLogs,
    ::testing::Values(
        RealLog{"dmesg/gb200-nvlink5-xid145-149-lines.log", EventFamily::KERNEL_XID, "149"},
        RealLog{"dmesg/gcm-xid-31-48-lines.log", EventFamily::KERNEL_XID, "48"},
        RealLog{"dmesg/xid119-gsp-rpc-timeout.log", EventFamily::KERNEL_XID, "119"},
        RealLog{"dmesg/xid48-63-94-dbe-rowremap-iso.log", EventFamily::KERNEL_XID, "94"},
        RealLog{"dmesg/nvswitch-sxid-lines.log", EventFamily::KERNEL_SXID, "non-fatal"},
        RealLog{"dmesg/gcm-io-error-lines.log", EventFamily::KERNEL_IO_ERROR, "io_error"},
        RealLog{"dmesg/hung-task-softlockup-panic-lines.log", EventFamily::KERNEL_LOCKUP, "panic"},
        RealLog{"dmesg/mlx5-power-cable-temp-cmd-lines.log", EventFamily::KERNEL_NIC,
                "insufficient_power"},
        RealLog{"dmesg/h100-nvlink-postrxdet-failed-lines.log", EventFamily::KERNEL_NVRM,
                "nvlink_rx_detect"}));

}  // namespace kernel_log_test
}  // namespace galen::node
