#include "services/node/checks/system/file_systems.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/system/memory.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FileSystems, DfWithTypesGivesSizesAndUse) {
  const auto systems = ParseDf(
      "Filesystem Type 1024-blocks Used Available Capacity Mounted on\n"
      "/dev/sda1 ext4 1000 990 10 99% /var/lib/my data\n"
      "none proc 0 0 0 - /proc\n");
  ASSERT_THAT(systems, SizeIs(2));
  EXPECT_EQ(systems[0].type, "ext4");
  EXPECT_EQ(systems[0].total, 1000);
  EXPECT_EQ(systems[0].used_pct, 99.0);
  EXPECT_EQ(systems[0].target, "/var/lib/my data");
  EXPECT_FALSE(systems[1].used_pct.has_value());
}

TEST(FileSystems, HostileTextIsNoFileSystem) {
  EXPECT_THAT(ParseDf(""), IsEmpty());
  EXPECT_THAT(ParseDf(std::string("\0\xff\n\x01 a b c d e f\n", 16)), IsEmpty());
  EXPECT_THAT(ParseDf(std::string(1 << 20, 'x')), IsEmpty());
}

TEST(Disk, TellsFullAndReadOnlyMounts) {
  FakeHost host;
  host.AddCommand("df -PT",
                  "Filesystem Type 1024-blocks Used Available Capacity Mounted on\n"
                  "/dev/sda1 ext4 1000 1000 0 100% /\n"
                  "/dev/sdb1 xfs 1000 10 990 1% /scratch\n");
  host.AddCommand("df -Pi",
                  "Filesystem Inodes IUsed IFree IUse% Mounted on\n"
                  "/dev/sda1 100 7 93 7% /\n"
                  "/dev/sdb1 0 0 0 - /scratch\n");
  host.AddFile("/proc/mounts", "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /scratch xfs ro,noatime 0 0\n");
  const auto output = CheckDisk({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "used_pct", "mount:/"), "100");
  EXPECT_EQ(ValueOf(*output, "inodes_used_pct", "mount:/"), "7");
  EXPECT_EQ(ValueOf(*output, "inodes_used_pct", "mount:/scratch"), "absent");
  EXPECT_EQ(ValueOf(*output, "read_only", "mount:/"), "false");
  EXPECT_EQ(ValueOf(*output, "read_only", "mount:/scratch"), "true");
  EXPECT_EQ(output->message, "/ is 100 % full");
}

TEST(Memory, GlobalKillsCountAndThoseOfGroupsDoNot) {
  FakeHost host;
  host.AddFile("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  host.AddCommand("dmesg --time-format iso",
                  "Memory cgroup out of memory: Killed process 7 (a) total-vm:1kB\n"
                  "Out of memory: Killed process 8 (b) total-vm:1kB\n");
  const auto output = CheckMemory({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "available_gib"), "4");
  EXPECT_EQ(ValueOf(*output, "oom_kills"), "?");
  EXPECT_EQ(ValueOf(*output, "global_oom", "process:8"), "global:b*1");
  EXPECT_EQ(ValueOf(*output, "global_oom", "process:7"), "absent");
}

TEST(Memory, KillsSinceBootConvictNobody) {
  FakeHost host;
  host.AddFile("/proc/meminfo", "MemAvailable: 4194304 kB\n");
  host.AddFile("/proc/vmstat", "pgfault 7\noom_kill 3\n");
  host.AddCommand("dmesg --time-format iso", "quiet\n");
  const auto* const spec = RealKnowledge().FindCheck("system.memory");
  ASSERT_NE(spec, nullptr);
  const auto result = knowledge::MakeResult(*spec, "n", CheckMemory({host, RealKnowledge()}));
  EXPECT_EQ(result.status(), v1::CheckResult::PASS);
}

TEST(MachineCheck, ALogWithoutSuchLinesIsNoCount) {
  FakeHost host;
  host.AddCommand("dmesg --time-format iso", "quiet\n");
  auto output = CheckMachineCheck({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "uncorrected"), "?");
  EXPECT_EQ(ValueOf(*output, "corrected"), "?");
  host.AddCommand("dmesg --time-format iso", "EDAC MC0: 2 UE memory read error\n");
  output = CheckMachineCheck({host, RealKnowledge()});
  EXPECT_EQ(ValueOf(*output, "uncorrected"), "1");
  EXPECT_EQ(ValueOf(*output, "corrected"), "?");
  host.AddFile("/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
  host.AddFile("/sys/devices/system/edac/mc/mc0/ce_count", "1200\n");
  host.AddCommand("dmesg --time-format iso", "quiet\n");
  output = CheckMachineCheck({host, RealKnowledge()});
  EXPECT_EQ(ValueOf(*output, "uncorrected"), "0");
  EXPECT_EQ(ValueOf(*output, "corrected"), "1200");
  const auto* const spec = RealKnowledge().FindCheck("system.machine_check");
  ASSERT_NE(spec, nullptr);
  // Since boot, that may be a few a day.
  EXPECT_EQ(knowledge::MakeResult(*spec, "n", std::move(output)).status(), v1::CheckResult::PASS);
}

TEST(Memory, WithoutTheFileNothingIsSaid) {
  FakeHost host;
  EXPECT_EQ(CheckMemory({host, RealKnowledge()}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(Pressure, ReadsTheTenSecondAverageOfItsLine) {
  constexpr char kText[] =
      "some avg10=1.25 avg60=0.50 avg300=0.00 total=1\n"
      "full avg10=22.50 avg60=0.50 avg300=0.00 total=1\n";
  EXPECT_EQ(PressureAvg10(kText, "some"), 1.25);
  EXPECT_EQ(PressureAvg10(kText, "full"), 22.5);
  EXPECT_EQ(PressureAvg10("full nothing", "full"), std::nullopt);
  EXPECT_EQ(PressureAvg10("", "some"), std::nullopt);
}

}  // namespace
}  // namespace galen::node
