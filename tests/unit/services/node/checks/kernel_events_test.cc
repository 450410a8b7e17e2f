#include "services/node/checks/system/kernel_events.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "real_knowledge.h"

namespace galen::node {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<KernelEvent> Scan(absl::string_view log, const KernelWindow& window = {}) {
  return ScanKernelLog(log, *KernelPatterns::Of(RealKnowledge()), window);
}

struct Row {
  std::string line;
  EventFamily family;
  std::string code;
  std::string pci;
  std::string subject;
  bool platform = false;
};

class KernelRows : public ::testing::TestWithParam<Row> {};

TEST_P(KernelRows, AreSeenForWhatTheyAre) {
  const Row& row = GetParam();
  const std::vector<KernelEvent> events = Scan(row.line);
  ASSERT_THAT(events, SizeIs(1)) << row.line;
  EXPECT_EQ(events[0].family, row.family) << row.line;
  EXPECT_EQ(events[0].code, row.code) << row.line;
  EXPECT_EQ(events[0].pci, row.pci) << row.line;
  EXPECT_EQ(events[0].subject, row.subject) << row.line;
  EXPECT_EQ(events[0].platform, row.platform) << row.line;
  EXPECT_EQ(events[0].count, 1);
}

using F = EventFamily;
INSTANTIATE_TEST_SUITE_P(
    All, KernelRows,
    ::testing::Values(
        Row{"NVRM: Xid (PCI:0000:5e:00): 48, pid='<unknown>', name=<unknown>, DBE", F::KERNEL_XID,
            "48", "0000:5e:00.0", "", true},
        Row{"NVRM: Xid (0000:5e:00): 79, GPU has fallen off the bus.", F::KERNEL_XID, "79",
            "0000:5e:00.0", "", true},
        Row{"NVRM: Xid (PCI:0008:01:00 GPU-I:02): 94, pid=7, name=python3, Contained",
            F::KERNEL_XID, "94", "0008:01:00.0", "", true},
        Row{"NVRM: Xid (PCI:0000:5e:00): 31, pid=12, name=python3, MMU Fault", F::KERNEL_XID, "31",
            "0000:5e:00.0", "", false},
        Row{"nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
            F::KERNEL_SXID, "fatal", "0000:c6:00.0", "nvidia-nvswitch2", true},
        Row{"NVRM: API mismatch: the client has the version 515.1, but", F::KERNEL_NVRM,
            "api_mismatch", "", "", false},
        Row{"NVRM: GPU 0000:5e:00.0: RmInitAdapter failed! (0x22:0x56:884)", F::KERNEL_NVRM,
            "rm_init_failed", "0000:5e:00.0", "", true},
        Row{"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            F::KERNEL_NVRM, "module_rejected", "", "", false},
        Row{"amdgpu 0000:63:00.0: amdgpu: MES failed to respond to msg=ADD_QUEUE", F::KERNEL_AMDGPU,
            "mes_no_response", "0000:63:00.0", "", true},
        Row{"amdgpu 0000:63:00.0: amdgpu: SMU: I'm not done with your previous command: "
            "SMN_C2PMSG_66:0x00000006",
            F::KERNEL_AMDGPU, "smu_not_done", "0000:63:00.0", "", true},
        Row{"amdgpu 0000:63:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
            F::KERNEL_AMDGPU, "umc_uncorrectable", "0000:63:00.0", "", true},
        Row{"amdgpu 0000:63:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3",
            F::KERNEL_AMDGPU, "ring_timeout", "0000:63:00.0", "", true},
        Row{"pcieport 0000:00:01.1: AER: Multiple Corrected error message received: 0000:02:00.0",
            F::KERNEL_AER, "correctable", "0000:02:00.0", "", false},
        Row{"pcieport 0000:00:01.1: AER: Uncorrected (Fatal) error received: 0000:02:00.0",
            F::KERNEL_AER, "fatal", "0000:02:00.0", "", true},
        Row{"pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from "
            "0000:01:00.0",
            F::KERNEL_AER, "fatal", "0000:01:00.0", "", true},
        Row{"pcieport 0000:00:01.0: AER: Multiple Uncorrectable (Non-Fatal) error message received "
            "from 0000:01:00.0",
            F::KERNEL_AER, "nonfatal", "0000:01:00.0", "", true},
        Row{"pcieport 0000:00:01.0: AER: Correctable error message received from 0000:01:00.0",
            F::KERNEL_AER, "correctable", "0000:01:00.0", "", false},
        Row{"mlx5_core 0000:1a:00.0: poll_health:955:(pid 0): Fatal error 1 detected",
            F::KERNEL_NIC, "health", "0000:1a:00.0", "", true},
        Row{"NETDEV WATCHDOG: enp26s0np0 (mlx5_core): transmit queue 3 timed out", F::KERNEL_NIC,
            "watchdog", "", "enp26s0np0", true},
        Row{"blk_update_request: I/O error, dev nvme3n1, sector 12 op 0x1:(WRITE)",
            F::KERNEL_IO_ERROR, "io_error", "", "nvme3n1", true},
        Row{"critical medium error, dev sdb, sector 1953 op 0x0:(READ) flags 0x80700 phys_seg 1",
            F::KERNEL_IO_ERROR, "io_error", "", "sdb", true},
        Row{"blk_update_request: protection error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0",
            F::KERNEL_IO_ERROR, "io_error", "", "nvme0n1", true},
        Row{"critical target error, dev sdb, sector 1953 op 0x1:(WRITE) flags 0x800 phys_seg 1",
            F::KERNEL_IO_ERROR, "critical_target", "", "sdb", true},
        Row{"Buffer I/O error on dev dm-3, logical block 7, async page read", F::KERNEL_IO_ERROR,
            "io_error", "", "dm-3", true},
        Row{"EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm ls: reading "
            "directory lblock 0",
            F::KERNEL_IO_ERROR, "filesystem_error", "", "nvme0n1p2", true},
        Row{"XFS (md127): Metadata corruption detected at xfs_agf_read_verify+0x1/0x2, block 0x1",
            F::KERNEL_IO_ERROR, "filesystem_error", "", "md127", true},
        Row{"XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
            F::KERNEL_IO_ERROR, "filesystem_error", "", "nvme1n1", true},
        Row{"Memory cgroup out of memory: Killed process 411 (python3) total-vm:9kB",
            F::KERNEL_OOM_KILL, "memcg:python3", "", "411", false},
        Row{"Out of memory: Killed process 412 (python3) total-vm:9kB", F::KERNEL_OOM_KILL,
            "global:python3", "", "412", false},
        Row{"watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:411]", F::KERNEL_LOCKUP,
            "soft_lockup", "", "", true},
        Row{"Kernel panic - not syncing: Fatal exception", F::KERNEL_LOCKUP, "panic", "", "", true},
        Row{"INFO: task python3:411 blocked for more than 120 seconds.", F::KERNEL_HUNG_TASK,
            "hung_task", "", "python3:411", false},
        Row{"EDAC MC1: 1 UE memory read error on CPU_SrcID#1", F::KERNEL_MACHINE_CHECK, "ue", "",
            "1", true},
        Row{"[Hardware Error]: CPU:64 (19:1:1) "
            "MC17_STATUS[Over|UE|MiscV|AddrV|-|TCC|SyndV|UECC|-]: "
            "0xfc00000000010a",
            F::KERNEL_MACHINE_CHECK, "uncorrected", "", "", true},
        Row{"mce: [Hardware Error]: CPU 19: Machine Check Exception: f Bank 1: bd80000000100134",
            F::KERNEL_MACHINE_CHECK, "uncorrected", "", "", true},
        Row{"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: be00000000800400",
            F::KERNEL_MACHINE_CHECK, "uncorrected", "", "", true},
        Row{"DMAR: [DMA Write NO_PASID] Request device [17:00.0] fault addr 0x2b",
            F::KERNEL_IOMMU_FAULT, "dmar_fault", "0000:17:00.0", "", false},
        Row{"pci 0000:4b:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]",
            F::KERNEL_BAR, "no_space", "0000:4b:00.0", "", false},
        Row{"nfs: server 192.0.2.4 not responding, still trying", F::KERNEL_NFS, "not_responding",
            "", "192.0.2.4", false}));

TEST(KernelEvents, AnnouncementsAndHealthyLinesAreNoEvents) {
  EXPECT_THAT(Scan("mce: [Hardware Error]: Machine check events logged\n"
                   "nvidia: module verification failed: signature and/or required key missing - "
                   "tainting kernel\n"
                   "mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged\n"
                   "amdgpu 0000:63:00.0: amdgpu: SMU is initialized successfully!\n"
                   "amdgpu 0000:63:00.0: amdgpu: GPU reset(1) succeeded!\n"
                   "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"),
              IsEmpty());
}

TEST(KernelEvents, ACorrectedMachineCheckIsNotAnUncorrectedOne) {
  EXPECT_THAT(Scan("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 7: 8c00004000010090\n"
                   "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 7: cc00004000010090\n"
                   "[Hardware Error]: Corrected error, no action required.\n"
                   "[Hardware Error]: CPU:2 (19:1:1) "
                   "MC18_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC]: 0xdc\n"),
              IsEmpty());
}

TEST(KernelEvents, DrivesWithoutAMediumAndWhatTheyDoNotSupportAreNoErrors) {
  EXPECT_THAT(
      Scan("blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0\n"
           "blk_update_request: I/O error, dev loop11, sector 0 op 0x1:(WRITE) flags 0x800\n"
           "Buffer I/O error on dev sr0, logical block 0, async page read\n"
           "EXT4-fs error (device loop3): ext4_lookup:1: inode #2: bad\n"
           "EXT4-fs (sda1): error count since last fsck: 3\n"
           "operation not supported error, dev nvme0n1, sector 0 op 0x9:(WRITE_ZEROES)\n"
           "critical target error, dev sda, sector 20 op 0x3:(DISCARD) flags 0x800\n"
           "XFS (nvme0n1p2): Mounting V5 Filesystem\n"),
      IsEmpty());
}

TEST(KernelEvents, CountsRepeatsAndKeepsTheFirst) {
  const std::vector<KernelEvent> events = Scan(
      "[  700.0] NVRM: Xid (PCI:0000:5e:00): 94, first\n"
      "[  701.0] NVRM: Xid (PCI:0000:17:00): 94, other GPU\n"
      "[  702.0] NVRM: Xid (PCI:0000:5e:00): 94, again\n");
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].count, 2);
  EXPECT_EQ(events[0].order, 0);
  EXPECT_EQ(events[0].uptime_s, 700.0);
  EXPECT_THAT(events[0].text, ::testing::HasSubstr("first"));
  EXPECT_EQ(events[1].order, 1);
}

TEST(KernelEvents, OnlyThoseInTheWindowCountWhereTimesAreKnown) {
  KernelWindow window;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, "2024-05-06T07:00:00Z", &window.from, nullptr));
  window.boot = window.from - absl::Seconds(1000);
  const std::vector<KernelEvent> events = Scan(
      "2024-05-01T07:00:00,1+00:00 NVRM: Xid (PCI:0000:5e:00): 48, old\n"
      "[  900.0] NVRM: Xid (PCI:0000:5e:00): 63, dated by boot, old\n"
      "2024-05-06T07:00:01,1+00:00 NVRM: Xid (PCI:0000:5e:00): 79, new\n"
      "NVRM: Xid (PCI:0000:5e:00): 74, undated\n",
      window);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].code, "79");
  EXPECT_EQ(events[1].code, "74");
}

TEST(KernelEvents, ALinkThatComesUpWithTheMachineIsNoFlap) {
  EXPECT_THAT(Scan("[   10.0] mlx5_core 0000:1b:00.0 enp27s0f0np0: Link down\n"
                   "[   12.0] mlx5_core 0000:1b:00.0 enp27s0f0np0: Link up\n"
                   "[   13.0] mlx5_core 0000:1b:00.1 enp27s0f1np1: Link down\n"),
              IsEmpty());
}

TEST(KernelEvents, ALinkThatGoesDownLaterIsSeenWithItsReturn) {
  const std::vector<KernelEvent> events = Scan(
      "[   12.0] mlx5_core 0000:1b:00.0 enp27s0f0np0: Link up\n"
      "[ 9000.0] mlx5_core 0000:1b:00.0 enp27s0f0np0: Link down\n"
      "[ 9004.0] mlx5_core 0000:1b:00.0 enp27s0f0np0: Link up\n");
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].code, "link_down");
  EXPECT_EQ(events[1].code, "link_up");
}

TEST(KernelEvents, AGpuThatFellOffTheBusOverSeveralLinesIsXid79) {
  const std::vector<KernelEvent> events = Scan(
      "NVRM: The NVIDIA GPU 0000:0f:00.0\n"
      "NVRM: (PCI ID: 10de:20b2) installed in this system has\n"
      "NVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].code, "fallen_off_bus");
  EXPECT_EQ(events[1].family, EventFamily::KERNEL_XID);
  EXPECT_EQ(events[1].code, "79");
  EXPECT_EQ(events[1].pci, "0000:0f:00.0");
}

TEST(KernelEvents, AKillPrintedTwiceIsOneKill) {
  const std::vector<KernelEvent> events = Scan(
      "Memory cgroup out of memory: Kill process 88 (trainer) score 1000 or sacrifice child\n"
      "Killed process 88 (trainer) total-vm:1kB\n");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].code, "memcg:trainer");
}

TEST(KernelEvents, AKillIsOfTheGroupWhoseLimitWasHit) {
  const std::vector<KernelEvent> events = Scan(
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,"
      "oom_memcg=/a/b,task_memcg=/a/b/c,task=python3,pid=88,uid=0\n"
      "Memory cgroup out of memory: Killed process 88 (python3) total-vm:1kB\n"
      "Memory cgroup out of memory: Killed process 89 (python3) total-vm:1kB\n"
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=x,mems_allowed=0-1,global_oom,"
      "task_memcg=/a/b/c,task=python3,pid=90,uid=0\n"
      "Out of memory: Killed process 90 (python3) total-vm:1kB\n"
      "Task in /old/b/c killed as a result of limit of /old/b\n"
      "Memory cgroup out of memory: Kill process 91 (python3) score 1 or sacrifice child\n"
      "Killed process 91 (python3) total-vm:1kB\n"
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)\n"
      "Memory cgroup out of memory: Killed process 92 (python3) total-vm:1kB\n");
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_EQ(events[0].group, "/a/b");
  // A group may be killed as a whole.
  EXPECT_EQ(events[1].group, "/a/b");
  EXPECT_EQ(events[2].group, "");
  EXPECT_EQ(events[3].group, "/old/b");
  EXPECT_EQ(events[4].group, "");
}

knowledge::v1::KernelLine& AddLine(knowledge::v1::KnowledgeBase& base, absl::string_view match) {
  knowledge::v1::KernelLine& line = *base.add_kernel_lines();
  line.set_id(absl::StrCat("site.", base.kernel_lines_size()));
  line.set_family(knowledge::v1::KERNEL_NIC);
  line.set_match(std::string(match));
  return line;
}

TEST(KernelEvents, TheFirstFormOfTheKnowledgeThatMatchesDecides) {
  knowledge::v1::KnowledgeBase base;
  AddLine(base, R"(acme(?P<subject>\d+): fault (?P<code>\w+))").set_platform(true);
  AddLine(base, "acme").set_code("anything");
  base.mutable_kernel_lines(0)->add_program_codes("soft");
  const knowledge::Knowledge knowledge(base);
  const auto events = ScanKernelLog(
      "acme3: fault hard\nacme3: fault SOFT\nacme: hello\nNVRM: Xid (PCI:0000:5e:00): 79, x",
      *KernelPatterns::Of(knowledge));
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].subject, "3");
  EXPECT_EQ(events[0].code, "hard");
  EXPECT_TRUE(events[0].platform);
  EXPECT_EQ(events[1].code, "SOFT");
  EXPECT_FALSE(events[1].platform);
  EXPECT_EQ(events[2].code, "anything");
}

TEST(KernelEvents, AFormThatDoesNotCompileMatchesNothingAndDisturbsNoOther) {
  knowledge::v1::KnowledgeBase base;
  AddLine(base, "acme(").set_code("broken");
  EXPECT_THAT(ScanKernelLog("acme(", *KernelPatterns::Of(knowledge::Knowledge(base))), IsEmpty());
  AddLine(base, "acme: hello").set_code("whole");
  const auto events = ScanKernelLog("acme: hello", *KernelPatterns::Of(knowledge::Knowledge(base)));
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].code, "whole");
}

TEST(KernelEvents, SurvivesWhatIsNoLog) {
  EXPECT_THAT(Scan(""), IsEmpty());
  EXPECT_THAT(Scan(std::string(1 << 20, 'N')), IsEmpty());
  EXPECT_THAT(Scan(std::string("NVRM: Xid \0\xff\n\n\r\n", 16)), IsEmpty());
  EXPECT_THAT(Scan("NVRM: Xid (PCI:0000:5e:00): "), IsEmpty());
  EXPECT_THAT(Scan(absl::StrCat("NVRM: Xid (PCI:0000:5e:00): 48, ", std::string(1 << 20, '\xff'))),
              SizeIs(1));
}

TEST(KernelEvents, AddressesHaveOneForm) {
  EXPECT_EQ(NormalPci("00000000:B3:00.0"), "0000:b3:00.0");
  EXPECT_EQ(NormalPci("0008:01:00"), "0008:01:00.0");
  EXPECT_EQ(NormalPci("17:00.0"), "0000:17:00.0");
  EXPECT_EQ(NormalPci("0000:00:1c"), "0000:00:1c.0");
  EXPECT_EQ(NormalPci("GPU"), "");
}

}  // namespace
}  // namespace galen::node
