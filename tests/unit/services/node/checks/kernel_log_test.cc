#include "services/node/checks/system/kernel_log.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "real_knowledge.h"
#include "services/node/checks/system/device_names.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"

namespace galen::node {
namespace {

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

}  // namespace
}  // namespace galen::node
