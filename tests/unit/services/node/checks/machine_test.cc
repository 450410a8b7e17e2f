// Claims about the checks of devices, power management, the BMC, processes, boots and
// orchestrators.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/bmc.h"
#include "services/node/checks/system/boot_history.h"
#include "services/node/checks/system/devices.h"
#include "services/node/checks/system/listings.h"
#include "services/node/checks/system/memory.h"
#include "services/node/checks/system/orchestrator.h"
#include "services/node/checks/system/platform.h"
#include "services/node/checks/system/process_load.h"
#include "services/node/checks/system/version_order.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

CheckContext Context(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

TEST(Devices, AMissingUvmNodeOfALoadedDriverIsSeen) {
  FakeHost host;
  host.AddFile("/proc/modules", "nvidia 1 0 - Live 0x0\n");
  host.AddCommand("ls -l /dev",
                  "total 0\ncrw-rw-rw- 1 root root 195,   0 Jan  8 04:47 nvidia0\n"
                  "crw-rw---- 1 root video 195, 255 Jan  8 04:47 nvidiactl\n");
  const auto output = CheckDevices(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "uvm_node_present"), "false");
  EXPECT_EQ(ValueOf(*output, "nvidia_nodes"), "1");
  EXPECT_EQ(ValueOf(*output, "kfd_present"), "?");
  EXPECT_EQ(ValueOf(*output, "mode_and_group", "gpu:0"), "crw-rw-rw- root");
}

TEST(Devices, WithoutADriverNothingIsMissing) {
  FakeHost host;
  host.AddFile("/proc/modules", "ext4 1 0 - Live 0x0\n");
  host.AddCommand("ls -l /dev", "crw-rw-rw- 1 root root 1,   3 Jan  8 04:47 null\n");
  const auto output = CheckDevices(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "uvm_node_present"), "?");
}

TEST(PowerManagement, ASuspendedGpuAndAspmAreSeen) {
  FakeHost host;
  const std::string gpu = "/sys/bus/pci/devices/0000:b3:00.0/";
  host.AddFile(gpu + "vendor", "0x10de\n").AddFile(gpu + "class", "0x030200\n");
  host.AddFile(gpu + "power/control", "auto\n");
  host.AddFile(gpu + "power/runtime_status", "suspended\n");
  host.AddFile("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x8086\n");
  host.AddCommand("lspci -vvv -nn",
                  "b3:00.0 3D controller [0302]: NVIDIA [10de:2330]\n"
                  "\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+\n");
  const auto output = CheckPowerManagement(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "runtime_suspended", "pci:0000:b3:00.0"), "true");
  EXPECT_EQ(ValueOf(*output, "control", "pci:0000:b3:00.0"), "auto");
  EXPECT_EQ(ValueOf(*output, "aspm_enabled", "pci:0000:b3:00.0"), "true");
  EXPECT_EQ(output->findings.size(), 3u);
}

TEST(PowerManagement, LinkControlOfARealMachineIsRead) {
  GALEN_NEED_FIXTURES();
  const auto aspm = AspmOfLspci(ReadFixture("lspci/hgx-h100-8gpu-cx7-lspci-vvv.txt"));
  EXPECT_GT(aspm.size(), 50u);
}

constexpr char kSel[] =
    "   1 | 11/02/2025 | 09:11:02 | Event Logging Disabled SEL | Log area reset/cleared | "
    "Asserted\n"
    "   2 | 11/03/2025 | 14:20:41 | Power Supply PS1 Status | Presence detected | Asserted\n"
    "   3 | 11/03/2025 | 14:21:41 | Power Supply PS2 Status | Power Supply AC lost | Asserted\n";

TEST(Bmc, ASupplyWithoutInputIsAFaultUntilTheLogTakesItBack) {
  FakeHost host;
  host.AddCommand("ipmitool sel elist", kSel);
  auto output = CheckBmc(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "psu_fault"), "true");
  EXPECT_EQ(ValueOf(*output, "fan_fault"), "false");
  EXPECT_EQ(ValueOf(*output, "power_on_fault"), "none");
  host.AddCommand("ipmitool sel elist",
                  std::string(kSel) +
                      "   4 | 11/03/2025 | 14:31:41 | Power Supply PS2 Status | Power Supply AC "
                      "lost | Deasserted\n");
  output = CheckBmc(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "psu_fault"), "false");
}

struct BmcCase {
  const char* sensor;
  const char* finding;
};

TEST(Bmc, EachKindOfEventHasItsFinding) {
  for (const BmcCase& one : {
           BmcCase{"Fan Fan5 | Lower Critical going low ", "fan_fault"},
           BmcCase{"GPU_FAN5 | Lower Non-recoverable going low ", "fan_fault"},
           BmcCase{"Power Unit PS Redundancy | Redundancy Lost", "psu_fault"},
           BmcCase{"PSU1_STATUS | Failure detected", "psu_fault"},
           BmcCase{"SYS_PSU_2 | Power Supply AC lost", "psu_fault"},
           BmcCase{"Power Supply PSU2 | Predictive failure", "psu_fault"},
           BmcCase{"Fan Fan Redundancy | Redundancy Lost", "fan_fault"},
           BmcCase{"OEM HGX_PWR_BRAKE | power brake asserted", "power_brake_asserted"},
           BmcCase{"Voltage PS1 Voltage 1 | Lower Critical going low", "input_voltage_low"},
           BmcCase{"Voltage PSU2_VIN | Lower Critical going low ", "input_voltage_low"},
           BmcCase{"Power Supply Input Voltage | Lower Critical going low ", "input_voltage_low"},
           BmcCase{"OEM HGX_GPU_SXM_3 | VR fault", "power_on_fault"},
       }) {
    FakeHost host;
    host.AddCommand("ipmitool sel elist",
                    std::string("1 | 11/03/2025 | 14:21:41 | ") + one.sensor + " | Asserted\n");
    const auto output = CheckBmc(Context(host));
    ASSERT_TRUE(output.ok());
    int faults = 0;
    for (const v1::Finding& finding : output->findings) {
      const std::string shown = Shown(finding);
      const bool fault = shown != "false" && shown != "none";
      faults += fault ? 1 : 0;
      EXPECT_EQ(fault, finding.name() == one.finding) << one.sensor << ": " << finding.name();
    }
    EXPECT_EQ(faults, 1) << one.sensor;
  }
}

TEST(Bmc, OnlySensorsBeyondALimitCount) {
  FakeHost host;
  host.AddCommand("ipmitool sensor",
                  "Fan1     | 0.000   | RPM   | cr  | na | 600.000 | na | na | na | na\n"
                  "Voltage 1| 226.000 | Volts | ok  | na | na | na | na | na | na\n");
  const auto output = CheckBmc(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "fan_fault"), "true");
  EXPECT_EQ(ValueOf(*output, "input_voltage_low"), "false");
  // Sensors do not report a brake.
  EXPECT_EQ(ValueOf(*output, "power_brake_asserted"), "?");
}

TEST(Bmc, SensorsThatTellNoSpeedKnowNoFanAndNoneKnowsASupply) {
  FakeHost host;
  host.AddCommand("ipmitool sensor",
                  "FAN1       | na       | RPM      | na     | na | na | na | na | na | na\n"
                  "PS1 Status | 0x1      | discrete | 0x0180 | na | na | na | na | na | na\n"
                  "CPU Temp   | 41.000   | degrees C | ok    | na | na | na | na | na | na\n");
  EXPECT_EQ(ValueOf(*CheckBmc(Context(host)), "fan_fault"), "?");
  EXPECT_EQ(ValueOf(*CheckBmc(Context(host)), "psu_fault"), "?");
  host.AddCommand("ipmitool sensor",
                  "FAN1 | 8100.000 | RPM | ok | na | 600.000 | na | na | na | na\n");
  EXPECT_EQ(ValueOf(*CheckBmc(Context(host)), "fan_fault"), "false");
}

TEST(Bmc, OnlyAnInputBelowItsLimitIsALowInput) {
  for (const auto& [sensor, low] : std::vector<std::pair<const char*, const char*>>{
           {"VBAT     | 2.610   | Volts | nc  | 2.500 | 2.600 | 2.700 | 3.300 | 3.400 | na",
            "false"},
           {"P12V     | 10.100  | Volts | cr  | 10.000 | 10.200 | 10.800 | 13.200 | 13.800 | na",
            "false"},
           {"PSU1_VIN | 271.000 | Volts | cr  | 90.000 | 95.000 | 100.000 | 264.000 | 270.000 | na",
            "false"},
           {"PSU1_VIN | 92.000  | Volts | cr  | 90.000 | 95.000 | 100.000 | 264.000 | 270.000 | na",
            "true"},
           {"PS1 Voltage 1 | 92.000 | Volts | cr | na | 95.000 | na | na | na | na", "true"},
       }) {
    FakeHost host;
    host.AddCommand("ipmitool sensor", std::string(sensor) + "\n");
    EXPECT_EQ(ValueOf(*CheckBmc(Context(host)), "input_voltage_low"), low) << sensor;
  }
}

TEST(Bmc, AnEventOfAnotherPartIsNoFaultOfThePower) {
  for (const char* event :
       {"Voltage VBAT | Lower Critical going low ", "Voltage PSU1_VIN | Upper Critical going high",
        "Memory Mem Redundancy | Redundancy Lost"}) {
    FakeHost host;
    host.AddCommand("ipmitool sel elist",
                    std::string("1 | 11/03/2025 | 14:21:41 | ") + event + " | Asserted\n");
    const auto output = CheckBmc(Context(host));
    EXPECT_EQ(ValueOf(*output, "input_voltage_low"), "false") << event;
    EXPECT_EQ(ValueOf(*output, "psu_fault"), "false") << event;
  }
}

TEST(Bmc, SuppliesAreReadFromDmi) {
  const auto supplies = ParsePowerSupplies(
      "Handle 0x2700, DMI type 39, 22 bytes\nSystem Power Supply\n\tLocation: PSU.Slot.1\n"
      "\tStatus: Present, Critical\n\nHandle 0x1\nSystem Information\n\tStatus: No\n");
  ASSERT_EQ(supplies.size(), 1u);
  EXPECT_EQ(supplies[0].status, "Present, Critical");
  GALEN_NEED_FIXTURES();
  EXPECT_TRUE(ParsePowerSupplies(ReadFixture("dmidecode/gpud-excerpt.txt")).empty());
}

constexpr char kPs[] = "ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args";

TEST(StuckProcesses, AWaitForAFileServerIsToldFromOthers) {
  FakeHost host;
  host.AddCommand("ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args",
                  "70 1 v D cl_sync_io_wait 9 1 0.0 python3 python3 train.py\n"
                  "71 1 v D rpc_wait_bit_killable 9 1 0.0 ls ls /data\n"
                  "72 1 v D io_schedule 9 1 0.0 dd dd\n");
  const auto output = CheckStuckProcesses({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "waits_for_network_fs", "process:70"), "true");
  EXPECT_EQ(ValueOf(*output, "waits_for_network_fs", "process:71"), "true");
  EXPECT_EQ(ValueOf(*output, "waits_for_network_fs", "process:72"), "false");
}

TEST(ProcessLoad, TheJobsOwnTreeIsNotForeign) {
  FakeHost host;
  host.AddFile("/proc/stat", "cpu  1 2\ncpu0 1 2\ncpu1 1 2\ncpu2 1\ncpu3 1\n");
  host.AddFile("/proc/40/status", "Name:\tpython\nThreads:\t12\n", host::View::kJob);
  host.AddCommand(kPs,
                  "PID PPID USER STAT WCHAN ELAPSED RSS %CPU COMMAND COMMAND\n"
                  "1 0 root S - 9 1 0.0 systemd init\n"
                  "30 1 u S - 9 1 0.0 slurmstepd x\n"
                  "35 30 u S - 9 1 50.0 bash job.sh\n"
                  "40 35 u R - 9 1 99.0 python train.py\n"
                  "41 40 u R - 9 1 80.0 python worker\n"
                  "50 1 root S - 9 1 60.0 dcgm-exporter x\n"
                  "60 1 v R - 9 1 200.0 other x\n"
                  "65 1 root R - 9 1 70.0 galen-gputest init\n"
                  "66 1 root R - 0 1 85.7 galen-guard galen-guard\n"
                  "70 2 root S - 9 1 90.0 kworker x\n");
  const auto output = CheckProcessLoad(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "foreign_cpu_pct"), "65");  // 260 of 400
  EXPECT_EQ(ValueOf(*output, "agent_cpu_pct", "process:dcgm-exporter"), "60");
  EXPECT_EQ(ValueOf(*output, "threads_of_job"), "12");
}

constexpr char kTop[] = "top -b -n 2 -d 1 -w 512";
constexpr char kOldProcesses[] =
    "1 0 root S - 90000 1 0.0 systemd init\n"
    "30 1 u S - 9000 1 0.0 slurmstepd x\n"
    "40 30 u R - 9000 1 99.0 python train.py\n"
    "50 1 root S - 80000 1 0.5 dcgm-exporter x\n"
    "60 1 v R - 80000 1 0.1 other x\n";

FakeHost LongRunningMachine() {
  FakeHost host;
  host.AddFile("/proc/stat", "cpu  1 2\ncpu0 1 2\ncpu1 1 2\n");
  host.AddFile("/proc/40/status", "Name:\tpython\nThreads:\t12\n", host::View::kJob);
  return host;
}

TEST(ProcessLoad, TheMeanOfALongLifeSaysNothingOfNowUnlessItIsHigh) {
  FakeHost host = LongRunningMachine();
  host.AddCommand(kPs, kOldProcesses);
  auto output = CheckProcessLoad(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "foreign_cpu_pct"), "?");
  EXPECT_EQ(ValueOf(*output, "agent_cpu_pct", "process:dcgm-exporter"), "?");
  host.AddCommand(kPs, std::string(kOldProcesses) + "61 1 v R - 80000 1 80.0 gpud x\n");
  output = CheckProcessLoad(Context(host));
  EXPECT_EQ(ValueOf(*output, "agent_cpu_pct", "process:gpud"), "80");
  EXPECT_EQ(ValueOf(*output, "foreign_cpu_pct"), "40.3");
}

TEST(ProcessLoad, TheSecondTableOfTopSaysWhatIsTakenNow) {
  FakeHost host = LongRunningMachine();
  host.AddCommand(kPs, kOldProcesses);
  const std::string heading =
      "top - 22:32:45 up 34 min,  0 user,  load average: 8.67, 6.60, 4.88\n\n"
      "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n";
  const auto row = [](int pid, const char* load) {
    return absl::StrCat("   ", pid, " u         20   0    1000    1000   1000 S  ", load,
                        "   0.0   0:01.00 x\n");
  };
  const std::string table = heading + row(1, "0.0") + row(30, "0.0") + row(40, "98.0") +
                            row(50, "30.0") + row(60, "10.0");
  host.AddCommand(kTop, heading + row(50, "0.5") + "\n" + table);
  auto output = CheckProcessLoad(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "agent_cpu_pct", "process:dcgm-exporter"), "30");
  EXPECT_EQ(ValueOf(*output, "foreign_cpu_pct"), "20");  // 40 of 200
  // The first table has the lifetime totals of the processes.
  host.AddCommand(kTop, table);
  output = CheckProcessLoad(Context(host));
  EXPECT_EQ(ValueOf(*output, "agent_cpu_pct", "process:dcgm-exporter"), "?");
}

TEST(ProcessLoad, WhatTwoJobsStartedFromTerminalsIsNotOneJob) {
  EXPECT_EQ(WithRelatives(ParseProcesses("20 1 u S - 1 1 1 tmux: tmux\n21 20 u S - 1 1 1 bash b\n"
                                         "22 20 u S - 1 1 1 bash b\n"),
                          {21}, {"tmux:"})
                .size(),
            1u);
  const auto data = CheckData::Of(RepositoryKnowledge(), "system.process_load");
  ASSERT_TRUE(data.ok());
  EXPECT_THAT(data->Texts("session_hosts"), ::testing::IsSupersetOf({"tmux:", "SCREEN"}));
}

TEST(ProcessLoad, WithoutTheJobNothingIsForeign) {
  FakeHost host;
  host.AddFile("/proc/stat", "cpu0 1 2\n");
  host.AddCommand(kPs, "60 1 v R - 9 1 200.0 other x\n");
  const auto output = CheckProcessLoad(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "foreign_cpu_pct"), "?");
}

TEST(ProcessLoad, ACircleOfParentsEnds) {
  EXPECT_EQ(
      WithRelatives(ParseProcesses("8 9 u R - 1 1 1 a a\n9 8 u R - 1 1 1 b b\n"), {8}, {}).size(),
      2u);
}

TEST(Orchestrator, AGpuThatIsNotHandedOutShows) {
  FakeHost host;
  host.AddCommand("kubectl get node node-1 -o json",
                  R"({"kind": "Node", "metadata": {"name": "node-1"}, "status": {
                    "capacity": {"nvidia.com/gpu": "8", "cpu": "96"},
                    "allocatable": {"nvidia.com/gpu": "7"},
                    "conditions": [{"type": "Ready", "status": "True"}]}})");
  host.AddLog("nvidia-device-plugin.log",
              "I1219 health.go:159] XidCriticalError: Xid=63 on Device=GPU-1; marking device as "
              "unhealthy.\n");
  const auto output = CheckOrchestrator(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "allocatable_gpus"), "7");
  EXPECT_EQ(ValueOf(*output, "capacity_gpus"), "8");
  EXPECT_EQ(ValueOf(*output, "node_ready"), "true");
  EXPECT_THAT(ValueOf(*output, "plugin_marked_unhealthy"), HasSubstr("marking device"));
  EXPECT_EQ(ValueOf(*output, "eviction"), "?");
}

TEST(Orchestrator, AnEvictedPodIsAnEventWithItsCount) {
  FakeHost host;
  host.AddCommand("kubectl describe pod llm-0",
                  "Name:     llm-0\nStatus:   Failed\nReason:   Evicted\n"
                  "Message:  low on resource: ephemeral-storage\nContainers:\n  llm:\n"
                  "    Limits:\n      memory:  8Gi\nEvents:\n  Type  Reason  Age  From  Message\n"
                  "  ----  ------  ---  ----  -------\n"
                  "  Warning  Evicted  11m   kubelet  The node was low on resource\n");
  const auto output = CheckOrchestrator(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "eviction", "pod:llm-0"), "Evicted*2");
  EXPECT_EQ(ValueOf(*output, "node_ready"), "?");
}

TEST(Orchestrator, ADrainedNodeOfSlurmIsNotReady) {
  const auto node = ParseScontrolNode(
      "NodeName=n1 Arch=x86_64\n   Gres=gpu:a100:4(S:0-1)\n   State=IDLE+DRAIN ThreadsPerCore=2\n"
      "   CfgTRES=cpu=4,gres/gpu=3\n   Reason=bad gpu [root@2024]\n");
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->ready, false);
  EXPECT_EQ(node->gpus, 4);
  EXPECT_EQ(node->allocatable_gpus, 3);
  EXPECT_EQ(node->reason, "bad gpu [root@2024]");
}

TEST(Orchestrator, OfAListOfTheWholeClusterTheOwnNodeIsTaken) {
  constexpr char kList[] =
      R"({"nodes":[{"name":"node-2","state":["IDLE"],"gres":"gpu:h100:8"},
                   {"name":"node-1","state":["IDLE","DRAIN"],"reason":"bad gpu",
                    "gres":"gpu:h100:4"}]})";
  FakeHost host;
  host.AddCommand("sinfo --json", kList);
  const auto output = CheckOrchestrator(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "node_ready"), "false");
  EXPECT_EQ(ValueOf(*output, "capacity_gpus"), "4");
  FakeHost other("node-9");
  other.AddCommand("sinfo --json", kList);
  EXPECT_EQ(CheckOrchestrator(Context(other)).status().code(), absl::StatusCode::kUnavailable);
}

TEST(Orchestrator, NodesOfRealSlurmReportsAreJudged) {
  GALEN_NEED_FIXTURES();
  for (const char* file : {"slurm/rivos-sinfo_out.json", "slurm/telegraf-slurmrestd-nodes.json"}) {
    const auto nodes = ParseSlurmNodes(ReadFixture(file));
    ASSERT_TRUE(nodes.ok()) << file;
    int out_of_service = 0;
    for (const NodeObject& node : *nodes) out_of_service += node.ready.value_or(true) ? 0 : 1;
    EXPECT_GE(out_of_service, 1) << file;
  }
  EXPECT_FALSE(ParseSlurmNodes(ReadFixture("slurm/rivos-squeue_out.json")).ok());
}

TEST(Cpu, MemoryInterleavedOverSocketsHasTooFewNumaNodes) {
  const struct {
    const char *name, *lscpu, *nodes, *expected;
  } kCases[] = {
      {"interleaved", "Socket(s):   2\nNUMA node(s):   1\n", "1", "2"},
      {"a node a socket", "Socket(s):   2\nNUMA node(s):   2\n", "2", "?"},
      {"split sockets", "Socket(s):   2\nNUMA node(s):   8\n", "8", "?"},
      {"a guest", "Hypervisor vendor:  KVM\nSocket(s):  16\nNUMA node(s):  1\n", "1", "?"},
      {"no sockets told", "NUMA node(s):   1\n", "1", "?"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    FakeHost host;
    host.AddCommand("lscpu", each.lscpu);
    const auto output = CheckCpu(Context(host));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "numa_nodes"), each.nodes);
    EXPECT_EQ(ValueOf(*output, "numa_nodes_expected"), each.expected);
  }
}

TEST(Cmdline, AReleaseKnownToBreakThingsIsNamedAndOthersAreNotCleared) {
  FakeHost host;
  host.AddFile("/proc/cmdline", "quiet\n");
  host.AddFile("/proc/version", "Linux version 7.0.0-1019-nvidia (buildd@bos03) #19-Ubuntu SMP\n");
  auto output = CheckCmdline(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "known_bad_kernel"), "memory_registration_fails_with_enomem");
  EXPECT_THAT(output->message, HasSubstr("7.0.0-1019-nvidia, known for memory_registration"));
  host.AddFile("/proc/version", "Linux version 6.17.0-1032-nvidia (buildd@bos03) #32-Ubuntu SMP\n");
  output = CheckCmdline(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "known_bad_kernel"), "?");
}

TEST(BootHistory, ARealPanicRecordNamesItsReason) {
  GALEN_NEED_FIXTURES();
  EXPECT_THAT(PanicReason(ReadFixture("pstore/dmesg-combined.txt")),
              ::testing::StartsWith("Kernel panic - not syncing"));
  FakeHost host;
  host.AddCommand("dmesg --time-format iso", "2024-05-06T07:08:09,000000+00:00 ok\n");
  for (const char* part : {"dmesg-erst-7530486857247752193", "dmesg-erst-7530486857247752194"}) {
    host.AddFile(std::string("/sys/fs/pstore/") + part, ReadFixture(std::string("pstore/") + part));
  }
  const auto output = CheckBootHistory(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(ValueOf(*output, "panic_record"), HasSubstr("panic"));
}

constexpr char kCrashedLately[] =
    "u        pts/0        10.0.0.9         Mon May  6 09:10   still logged in\n"
    "runlevel (to lvl 5)   5.15.0-105-gener Mon May  6 09:01   still running\n"
    "reboot   system boot  5.15.0-105-gener Mon May  6 09:00   still running\n"
    "u        pts/0        10.0.0.9         Mon May  6 08:10 - crash  (00:50)\n"
    "reboot   system boot  5.15.0-105-gener Sun Apr  7 09:00   still running\n";
constexpr char kCrashedLongAgo[] =
    "reboot   system boot  5.15.0-105-gener Mon May  6 09:00   still running\n"
    "shutdown system down  5.15.0-105-gener Mon May  6 08:55 - 09:00  (00:05)\n"
    "reboot   system boot  5.15.0-105-gener Sun Apr  7 09:00 - 08:55 (28+23:55)\n"
    "u        pts/0        10.0.0.9         Sat Apr  6 08:10 - crash (1+00:50)\n"
    "reboot   system boot  5.15.0-105-gener Mon Apr  1 09:00 - 08:55 (34+23:55)\n"
    "\nwtmp begins Mon Apr  1 09:00:00 2024\n";

TEST(BootHistory, OnlyWhatCameBeforeTheNewestBootDecides) {
  EXPECT_EQ(BootWithoutShutdown(kCrashedLately), true);
  EXPECT_EQ(BootWithoutShutdown(kCrashedLongAgo), false);
  EXPECT_EQ(BootWithoutShutdown("reboot   system boot  5.15.0 Mon May  6 09:00   still running\n"
                                "\nwtmp begins Mon May  6 09:00:00 2024\n"),
            std::nullopt);
  EXPECT_EQ(BootWithoutShutdown(""), std::nullopt);
}

TEST(BootHistory, ARebootCountsWithinTheIncidentsWindowOnly) {
  const absl::Time boot = absl::FromUnixSeconds(1'714'986'000);  // 2024-05-06T09:00:00Z
  FakeHost host;
  host.AddCommand("dmesg --time-format iso", "2024-05-06T07:08:09,000000+00:00 ok\n");
  host.AddCommand("last -x", kCrashedLately);
  host.AddFile("/proc/stat", "btime 1714986000\n");
  const auto unclean = [&](absl::Time start, absl::Time end) {
    CheckContext context = Context(host);
    context.window_start = start;
    context.window_end = end;
    return ValueOf(*CheckBootHistory(context), "unclean_reboot");
  };
  EXPECT_EQ(unclean(absl::InfinitePast(), absl::InfiniteFuture()), "true");
  EXPECT_EQ(unclean(boot - absl::Minutes(20), boot - absl::Minutes(10)), "true");
  // It ran through.
  EXPECT_EQ(unclean(boot + absl::Hours(30), boot + absl::Hours(31)), "false");
  // It was booted again long after, and what happened then is not in these records.
  EXPECT_EQ(unclean(boot - absl::Hours(31), boot - absl::Hours(30)), "?");
}

TEST(VersionOrder, PartsCompareAsNumbers) {
  EXPECT_LT(OrderVersions("2.9.6", "2.21.5"), 0);
  EXPECT_EQ(OrderVersions("v2.21.5-1", "1:2.21.5+cu124"), 0);
  EXPECT_GT(OrderVersions("12.4", "12"), 0);
}

TEST(VersionOrder, RangesHoldAllTheirConditions) {
  EXPECT_TRUE(InVersionRange("2.22.1", ">=2.21.5,<2.22.3"));
  EXPECT_FALSE(InVersionRange("2.22.3", ">=2.21.5,<2.22.3"));
  EXPECT_TRUE(InVersionRange("570.124.06", "==570.124"));
  EXPECT_FALSE(InVersionRange("570.12", "==570.124"));
  EXPECT_FALSE(InVersionRange("unknown", ">=1"));
  EXPECT_FALSE(InVersionRange("1.0", ""));
  EXPECT_FALSE(InVersionRange("1.0", "about 1"));
}

}  // namespace
}  // namespace galen::node
