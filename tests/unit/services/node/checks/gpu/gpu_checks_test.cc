#include "services/node/checks/gpu/gpu_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_fixture.h"
#include "gpu_xml.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSmi[] = "nvidia-smi -q -x";

FakeHost HostWith(const std::vector<std::string>& gpus) {
  FakeHost host("node-1");
  host.AddCommand(kSmi, SmiXml(gpus));
  return host;
}

std::string Ecc(int dram_uncorrectable) {
  return absl::StrCat(
      "<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode><ecc_errors><volatile>"
      "<dram_correctable>0</dram_correctable><dram_uncorrectable>",
      dram_uncorrectable,
      "</dram_uncorrectable><sram_uncorrectable>0</sram_uncorrectable></volatile></ecc_errors>");
}

TEST(GpuChecks, AreSkippedWithoutAnNvidiaDriver) {
  FakeHost host;
  for (const char* command : {kSmi, "nvidia-smi nvlink -s", "nvidia-smi nvlink -e",
                              "nvidia-smi topo -m", "nvidia-smi c2c -s"}) {
    host.AddAbsentCommand(command);
  }
  host.AddCommand("lspci -vvv -nn", "00:00.0 Host bridge [0600]: X [8086:0000]\n");
  for (const NamedCheck& check : GpuChecks()) {
    // Nothing was captured about AMD.
    if (check.name == "gpu.xgmi") continue;
    const auto output = RunGpuCheck(check.name, host);
    ASSERT_FALSE(output.ok()) << check.name;
    EXPECT_TRUE(absl::IsNotFound(output.status()) || absl::IsFailedPrecondition(output.status()))
        << check.name << ": " << output.status();
  }
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host),
              StatusIs(absl::StatusCode::kNotFound,
                       "nvidia-smi is not installed: no NVIDIA driver on this node"));
}

TEST(GpuChecks, NothingCapturedMeansNothingKnown) {
  const FakeHost host;
  for (const NamedCheck& check : GpuChecks()) {
    EXPECT_TRUE(absl::IsUnavailable(RunGpuCheck(check.name, host).status())) << check.name;
  }
}

TEST(GpuChecks, CutOffOutputIsAnErrorAndNoCrash) {
  const std::string xml = SmiXml({GpuXml("1B", Ecc(0))});
  FakeHost host;
  host.AddCommand(kSmi, xml.substr(0, xml.size() - 20));
  for (const char* check : {"gpu.ecc", "gpu.thermal", "gpu.power", "gpu.settings"}) {
    EXPECT_THAT(RunGpuCheck(check, host),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  }
}

TEST(GpuChecks, ADriverThatRefusesIsAnErrorInItsOwnWords) {
  FakeHost host;
  host.AddCommand(kSmi, "Failed to initialize NVML: Driver/library version mismatch\n", 18);
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("exit code 18"), HasSubstr("version mismatch"))));
}

TEST(Ecc, NamesTheGpuWithErrorsAndItsDevice) {
  const FakeHost host = HostWith({GpuXml("1B", Ecc(0)), GpuXml("B3", Ecc(2))});
  const auto output = RunGpuCheck("gpu.ecc", host);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(output, "dram_uncorrectable_volatile", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(output, "dram_uncorrectable_volatile", "gpu:1"), "2");
  EXPECT_EQ(ValueOf(output, "dram_uncorrectable_aggregate", "gpu:1"), "unknown");
  EXPECT_EQ(output->message,
            "GPU 1: 2 uncorrectable DRAM errors since the driver was loaded; the other GPU: no "
            "memory error");
  EXPECT_THAT(output->excerpt, AllOf(HasSubstr("GPU 1"), HasSubstr("<dram_uncorrectable>2<")));
  for (const galen::v1::Finding& finding : output->findings) {
    EXPECT_EQ(finding.subject().node(), "node-1");
    if (finding.subject().device() == "gpu:1") {
      EXPECT_EQ(finding.subject().pci_address(), "0000:b3:00.0");
      EXPECT_EQ(finding.subject().serial(), "GPU-B3");
    }
  }
}

TEST(Ecc, IsSkippedWhereNoGpuHasIt) {
  const FakeHost host = HostWith({GpuXml(
      "1B", "<ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>", "NVIDIA GeForce RTX 4090")});
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no GPU of this node")));
}

TEST(RowRemap, TellsWhatIsPending) {
  const FakeHost host =
      HostWith({GpuXml("1B",
                       "<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>1"
                       "</remapped_row_unc><remapped_row_pending>Yes</remapped_row_pending>"
                       "<remapped_row_failure>No</remapped_row_failure></remapped_rows>")});
  const auto output = RunGpuCheck("gpu.row_remap", host);
  EXPECT_EQ(ValueOf(output, "pending", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "failure_occurred", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "uncorrectable_rows", "gpu:0"), "1");
  EXPECT_EQ(ValueOf(output, "banks_without_spare", "gpu:0"), "unknown");
}

TEST(Inforom, FindsTheGpuThatTheWarningNames) {
  FakeHost host;
  host.AddCommand(kSmi,
                  absl::StrCat(SmiXml({GpuXml("1B", ""), GpuXml("4B", "")}),
                               "WARNING: infoROM is corrupted at gpu 0000:4B:00.0\n"),
                  14);
  const auto output = RunGpuCheck("gpu.inforom", host);
  EXPECT_EQ(ValueOf(output, "corrupted", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "corrupted", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(output, "smi_exit_code", ""), "14");
}

TEST(Inforom, AWarningThatNamesNoGpuLeavesAllUnknown) {
  FakeHost host;
  host.AddCommand(kSmi, SmiXml({GpuXml("1B", ""), GpuXml("4B", "")}), 14);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inforom", host), "corrupted", "gpu:0"), "unknown");
}

TEST(SmiHealth, AHangIsAFindingAndNotJustAnError) {
  FakeHost host;
  host.AddCommandError(kSmi, absl::DeadlineExceededError("nvidia-smi did not end within 20 s"));
  const auto output = RunGpuCheck("gpu.smi_health", host);
  EXPECT_EQ(ValueOf(output, "hung", ""), "true");
  EXPECT_EQ(ValueOf(output, "exit_code", ""), "unknown");
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunGpuCheck("gpu.ecc", host).status()));
}

TEST(SmiHealth, ReportsWhatNvidiaSmiSaid) {
  FakeHost host;
  host.AddCommand(kSmi, "Failed to initialize NVML: Unknown Error\n", 255);
  const auto output = RunGpuCheck("gpu.smi_health", host);
  EXPECT_EQ(ValueOf(output, "exit_code", ""), "255");
  EXPECT_EQ(ValueOf(output, "hung", ""), "false");
  EXPECT_EQ(ValueOf(output, "error_text", ""), "Failed to initialize NVML: Unknown Error");
}

TEST(Inventory, MissesAGpuThatTheBusStillShows) {
  FakeHost host = HostWith({GpuXml("1B",
                                   "<fb_memory_usage><total>81920 MiB</total>"
                                   "</fb_memory_usage>")});
  host.AddCommand("lspci -vvv -nn",
                  "1b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n"
                  "\tKernel driver in use: nvidia\n"
                  "0f:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev ff)\n"
                  "\t!!! Unknown header type 7f\n");
  const auto output = RunGpuCheck("gpu.inventory", host);
  EXPECT_EQ(ValueOf(output, "gpu_count_driver", ""), "1");
  EXPECT_EQ(ValueOf(output, "gpu_count_pci", ""), "2");
  EXPECT_EQ(ValueOf(output, "gpu_count_expected", ""), "2");
  EXPECT_EQ(ValueOf(output, "pci_rev_ff", "pci:0000:0f:00.0"), "true");
  EXPECT_EQ(ValueOf(output, "pci_rev_ff", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "memory_total_gib", "gpu:0"), "80");
  EXPECT_THAT(MessageOf(output), HasSubstr("0000:0f:00.0 answers with ff"));
}

TEST(Inventory, DoesNotExpectAGpuThatAGuestHas) {
  FakeHost host = HostWith({GpuXml("1B", "")});
  host.AddCommand("lspci -vvv -nn",
                  "1b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n"
                  "\tKernel driver in use: nvidia\n"
                  "0f:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n"
                  "\tKernel driver in use: vfio-pci\n");
  const auto output = RunGpuCheck("gpu.inventory", host);
  EXPECT_EQ(ValueOf(output, "gpu_count_expected", ""), "1");
  EXPECT_EQ(ValueOf(output, "driver_bound", "pci:0000:0f:00.0"), "vfio-pci");
}

TEST(Inventory, AnEmptyListOfTheDriverIsZeroOfThoseOnTheBus) {
  FakeHost host;
  host.AddCommand(kSmi, "No devices were found\n", 6);
  host.AddCommand("lspci -vvv -nn",
                  "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation X [10de:2b85] (rev "
                  "a1)\n\tKernel driver in use: nvidia\n");
  const auto output = RunGpuCheck("gpu.inventory", host);
  EXPECT_EQ(ValueOf(output, "gpu_count_driver", ""), "0");
  EXPECT_EQ(ValueOf(output, "gpu_count_expected", ""), "1");
}

TEST(Thermal, ComparesOnlyIdleGpusWithEachOther) {
  const auto gpu = [](const char* bus, int temperature, int utilization) {
    return GpuXml(bus, absl::StrCat("<temperature><gpu_temp>", temperature,
                                    " C</gpu_temp></temperature><utilization><gpu_util>",
                                    utilization, " %</gpu_util></utilization>"));
  };
  const FakeHost host =
      HostWith({gpu("1B", 35, 0), gpu("2B", 37, 0), gpu("3B", 80, 0), gpu("4B", 82, 100)});
  const auto output = RunGpuCheck("gpu.thermal", host);
  EXPECT_EQ(ValueOf(output, "idle_hotter_than_peers_c", "gpu:2"), "44");
  EXPECT_EQ(ValueOf(output, "idle_hotter_than_peers_c", "gpu:3"), "unknown");
  EXPECT_EQ(ValueOf(output, "memory_c", "gpu:0"), "unknown");
  EXPECT_THAT(MessageOf(output), HasSubstr("35 to 82 C, the hottest is GPU 3"));
}

TEST(Thermal, TheLimitIsTheDevicesOwnWhereItTellsOne) {
  const FakeHost host = HostWith(
      {GpuXml("1B",
              "<temperature><gpu_temp>91 C</gpu_temp><gpu_temp_slow_threshold>95 C"
              "</gpu_temp_slow_threshold></temperature>",
              "NVIDIA A10G"),
       GpuXml("2B",
              "<temperature><gpu_temp>91 C</gpu_temp><gpu_temp_tlimit>4 C</gpu_temp_tlimit>"
              "<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature>",
              "NVIDIA L4"),
       GpuXml("3B", "<temperature><gpu_temp>91 C</gpu_temp></temperature>", "NVIDIA L4")});
  const auto output = RunGpuCheck("gpu.thermal", host, KnownModels());
  EXPECT_EQ(ValueOf(output, "core_limit_c", "gpu:0"), "95");
  EXPECT_EQ(ValueOf(output, "core_limit_c", "gpu:1"), "97");
  EXPECT_EQ(ValueOf(output, "core_limit_c", "gpu:2"), "90");
}

TEST(Power, AddsUpLimitsAndSupplies) {
  const std::string fields =
      "<gpu_power_readings><instant_power_draw>588.31 W</instant_power_draw>"
      "<current_power_limit>250.00 W</current_power_limit>"
      "<default_power_limit>300.00 W</default_power_limit>"
      "<max_power_limit>300.00 W</max_power_limit></gpu_power_readings>";
  FakeHost host = HostWith({GpuXml("1B", fields), GpuXml("2B", fields)});
  host.AddCommand("dmidecode -t 39",
                  "System Power Supply\n\tMax Power Capacity: 750 W\n"
                  "System Power Supply\n\tMax Power Capacity: Unknown\n");
  const auto output = RunGpuCheck("gpu.power", host);
  EXPECT_EQ(ValueOf(output, "sum_of_limits_w", ""), "500");
  EXPECT_EQ(ValueOf(output, "psu_capacity_w", ""), "750");
  EXPECT_EQ(ValueOf(output, "limit_w", "gpu:1"), "250");
  EXPECT_EQ(ValueOf(output, "default_limit_w", "gpu:1"), "300");
  EXPECT_EQ(ValueOf(output, "draw_plausible", "gpu:0"), "false");
  EXPECT_EQ(MessageOf(output),
            "all 2 GPUs: shows a draw of 588.31 W, limited to 250 W of 300 W; limits add up to 500 "
            "W of 750 W of supply");
}

TEST(Clocks, AreJudgedOnlyWhileBusy) {
  const auto gpu = [](const char* bus, int utilization) {
    return GpuXml(bus, absl::StrCat("<clocks><sm_clock>300 MHz</sm_clock></clocks><max_clocks>"
                                    "<sm_clock>1500 MHz</sm_clock></max_clocks><utilization>"
                                    "<gpu_util>",
                                    utilization, " %</gpu_util></utilization>"));
  };
  const FakeHost host = HostWith({gpu("1B", 0), gpu("2B", 99)});
  const auto output = RunGpuCheck("gpu.clocks", host);
  EXPECT_EQ(ValueOf(output, "ratio_busy", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(output, "low_without_reason", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(output, "ratio_busy", "gpu:1"), "0.2");
  EXPECT_EQ(ValueOf(output, "user_setting_changed", "gpu:1"), "unknown");
}

TEST(Clocks, ThatALimitOfPowerHoldsDownAreExplained) {
  const auto gpu = [](const char* bus, const char* capped) {
    return GpuXml(
        bus, absl::StrCat("<clocks><sm_clock>700 MHz</sm_clock></clocks><max_clocks>"
                          "<sm_clock>2040 MHz</sm_clock></max_clocks><utilization>"
                          "<gpu_util>99 %</gpu_util></utilization><clocks_event_reasons>"
                          "<clocks_event_reason_hw_thermal_slowdown>Not Active"
                          "</clocks_event_reason_hw_thermal_slowdown>"
                          "<clocks_event_reason_hw_power_brake_slowdown>Not Active"
                          "</clocks_event_reason_hw_power_brake_slowdown>"
                          "<clocks_event_reason_sw_power_cap>",
                          capped, "</clocks_event_reason_sw_power_cap></clocks_event_reasons>"));
  };
  const auto output = RunGpuCheck(
      "gpu.clocks", HostWith({gpu("1B", "Active"), gpu("2B", "Not Active"), gpu("3B", "N/A")}));
  EXPECT_EQ(ValueOf(output, "low_without_reason", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "low_without_reason", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(output, "low_without_reason", "gpu:2"), "unknown");
}

TEST(Throttle, ReasonsThatAreNotReportedAreUnknown) {
  const FakeHost host = HostWith(
      {GpuXml("1B",
              "<clocks_throttle_reasons><clocks_throttle_reason_hw_power_brake_slowdown>Active"
              "</clocks_throttle_reason_hw_power_brake_slowdown>"
              "<clocks_throttle_reason_hw_slowdown>N/A</clocks_throttle_reason_hw_slowdown>"
              "</clocks_throttle_reasons>")});
  const auto output = RunGpuCheck("gpu.throttle", host);
  EXPECT_EQ(ValueOf(output, "hw_power_brake", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "hw_slowdown", "gpu:0"), "unknown");
  EXPECT_EQ(MessageOf(output), "GPU 0: hardware power brake active");
}

std::string Link(const char* bus, int gen, int width, const char* state, int utilization) {
  return GpuXml(
      bus, absl::StrCat("<performance_state>", state, "</performance_state><utilization><gpu_util>",
                        utilization,
                        " %</gpu_util></utilization><pci><pci_gpu_link_info><pcie_gen>"
                        "<max_link_gen>4</max_link_gen><current_link_gen>",
                        gen,
                        "</current_link_gen></pcie_gen><link_widths><max_link_width>16x"
                        "</max_link_width><current_link_width>",
                        width, "x</current_link_width></link_widths></pci_gpu_link_info></pci>"));
}

TEST(PcieLink, ALowGenerationOfAnIdleGpuIsNoDowngrade) {
  const FakeHost host = HostWith({Link("1B", 1, 16, "P8", 0), Link("2B", 1, 16, "P2", 95),
                                  Link("3B", 4, 16, "P0", 95), Link("4B", 4, 8, "P8", 0)});
  const auto output = RunGpuCheck("gpu.pcie_link", host);
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:2"), "false");
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:3"), "true");
  EXPECT_EQ(ValueOf(output, "peers_differ", "gpu:2"), "false");
  EXPECT_EQ(ValueOf(output, "peers_differ", "gpu:3"), "true");
}

TEST(PcieErrors, CountsAtTheGpuAndAtThePortAboveIt) {
  FakeHost host = HostWith({GpuXml("21", "<pci><replay_counter>17</replay_counter></pci>")});
  host.AddCommand("lspci -vvv -nn",
                  "20:01.1 PCI bridge [0604]: X [1022:1483]\n"
                  "\tBus: primary=20, secondary=21, subordinate=21, sec-latency=0\n"
                  "21:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n");
  host.AddFile("/sys/bus/pci/devices/0000:20:01.1/aer_dev_correctable",
               "RxErr 40\nBadTLP 2\nTOTAL_ERR_COR 42\n");
  const auto output = RunGpuCheck("gpu.pcie_errors", host);
  EXPECT_EQ(ValueOf(output, "replay_count", "gpu:0"), "17");
  EXPECT_EQ(ValueOf(output, "replay_rate_per_min", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(output, "aer_correctable", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(output, "aer_correctable", "pci:0000:20:01.1"), "42");
}

TEST(PcieErrors, FatalErrorsAreCountedByTheKernelToo) {
  FakeHost host = HostWith({GpuXml("21", ""), GpuXml("22", "")});
  host.AddFile("/sys/bus/pci/devices/0000:21:00.0/aer_dev_fatal",
               "Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2\n");
  host.AddFile("/sys/bus/pci/devices/0000:22:00.0/aer_dev_fatal",
               "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n");
  const auto output = RunGpuCheck("gpu.pcie_errors", host);
  EXPECT_EQ(ValueOf(output, "aer_uncorrectable", "gpu:0"), "2");
  // Only the log reports errors that were not fatal.
  EXPECT_EQ(ValueOf(output, "aer_uncorrectable", "gpu:1"), "unknown");
  EXPECT_THAT(MessageOf(output), HasSubstr("GPU 0: 2 uncorrected AER errors"));
}

TEST(Bar, SeesARegionWithoutAnAddress) {
  FakeHost host;
  host.AddAbsentCommand(kSmi);
  host.AddCommand("lspci -vvv -nn",
                  "41:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n"
                  "\tRegion 1: Memory at <unassigned> (64-bit, prefetchable)\n");
  host.AddCommand("dmesg --time-format iso",
                  "pci 0000:41:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]\n");
  const auto output = RunGpuCheck("gpu.bar", host);
  EXPECT_EQ(ValueOf(output, "bar_unassigned", "pci:0000:41:00.0"), "true");
  EXPECT_EQ(ValueOf(output, "no_space_in_log", ""), "true");
}

TEST(FabricState, NamesTheStateAsAnEnum) {
  const auto fabric = [](const char* bus, const char* state, const char* status) {
    return GpuXml(bus, absl::StrCat("<fabric><state>", state, "</state><status>", status,
                                    "</status></fabric>"));
  };
  const FakeHost host =
      HostWith({fabric("1B", "Completed", "Success"), fabric("2B", "In Progress", "N/A")});
  const auto output = RunGpuCheck("gpu.fabric_state", host);
  EXPECT_EQ(ValueOf(output, "state", "gpu:0"), "COMPLETED");
  EXPECT_EQ(ValueOf(output, "state", "gpu:1"), "IN_PROGRESS");
  EXPECT_EQ(ValueOf(output, "status", "gpu:1"), "unknown");
  EXPECT_EQ(ValueOf(output, "health_mask_bad", "gpu:0"), "unknown");
  EXPECT_THAT(RunGpuCheck("gpu.fabric_state", HostWith({fabric("1B", "N/A", "N/A")})),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("NVSwitch")));
}

TEST(Topology, CountsPairsAndFindsAnAdapterThatIsFar) {
  FakeHost host = HostWith({GpuXml("1B", ""), GpuXml("2B", "")});
  host.AddCommand("nvidia-smi topo -m",
                  "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\nGPU0\t X \tSYS\tPIX\tSYS\t0\n"
                  "GPU1\tSYS\t X \tSYS\tNODE\t1\nNIC0\tPIX\tSYS\t X \tSYS\t\n"
                  "NIC1\tSYS\tNODE\tSYS\t X \t\n\n");
  host.AddCommand("lspci -vvv -nn",
                  "1b:00.0 3D controller [0302]: NVIDIA Corporation X [10de:20b2] (rev a1)\n");
  const auto output = RunGpuCheck("gpu.topology", host);
  EXPECT_EQ(ValueOf(output, "has_nvswitch", ""), "false");
  EXPECT_EQ(ValueOf(output, "nvlink_pairs", ""), "0");
  EXPECT_EQ(ValueOf(output, "p2p_pairs_through_host", ""), "1");
  EXPECT_EQ(ValueOf(output, "nearest_nic_ok", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "nearest_nic_ok", "gpu:1"), "false");
}

TEST(Settings, CountsMigInstancesOnlyWithMig) {
  const FakeHost host = HostWith(
      {GpuXml("1B",
              "<compute_mode>Exclusive_Process</compute_mode><persistence_mode>Disabled"
              "</persistence_mode><mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled"
              "</pending_mig></mig_mode>"),
       GpuXml("2B",
              "<mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig>"
              "</mig_mode><mig_devices>None</mig_devices>"),
       // A part of an output does not say.
       GpuXml("3B", "<mig_mode><current_mig>Enabled</current_mig></mig_mode>")});
  const auto output = RunGpuCheck("gpu.settings", host);
  EXPECT_EQ(ValueOf(output, "compute_mode", "gpu:0"), "Exclusive_Process");
  EXPECT_EQ(ValueOf(output, "persistence", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "mig_pending", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "mig_instances", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(output, "mig_instances", "gpu:1"), "0");
  EXPECT_EQ(ValueOf(output, "mig_instances", "gpu:2"), "unknown");
}

TEST(RecoveryAction, ComesFromTheDriverOrFromItsLog) {
  FakeHost host =
      HostWith({GpuXml("1B", "<gpu_recovery_action>Drain and Reset</gpu_recovery_action>"),
                GpuXml("2B", "<performance_state>GPU requires reset</performance_state>"),
                GpuXml("9C", ""), GpuXml("9D", "")});
  host.AddCommand("dmesg --time-format iso",
                  "NVRM: Xid (PCI:0000:9c:00): 154, GPU recovery action changed from 0x0 (None) to "
                  "0x2 (Node Reboot Required)\n");
  const auto output = RunGpuCheck("gpu.recovery_action", host);
  EXPECT_EQ(ValueOf(output, "action", "gpu:0"), "DRAIN_AND_RESET");
  EXPECT_EQ(ValueOf(output, "action", "gpu:1"), "GPU_RESET");
  EXPECT_EQ(ValueOf(output, "action", "gpu:2"), "NODE_REBOOT");
  EXPECT_EQ(ValueOf(output, "action", "gpu:3"), "unknown");
}

TEST(Driver, ComparesTheLoadedModuleWithTheInstalledLibraries) {
  FakeHost host;
  host.AddCommand(kSmi, "Failed to initialize NVML: Driver/library version mismatch\n", 18);
  host.AddFile("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun 6\n");
  host.AddCommand("dpkg-query -W", "libnvidia-compute-535:amd64\t535.86.10-0ubuntu1\n");
  const auto output = RunGpuCheck("gpu.driver", host);
  EXPECT_EQ(ValueOf(output, "module_version", ""), "535.54.03");
  EXPECT_EQ(ValueOf(output, "userspace_version", ""), "535.86.10");
  EXPECT_EQ(ValueOf(output, "skew", ""), "true");
  EXPECT_EQ(ValueOf(output, "half_installed", ""), "false");
  EXPECT_EQ(ValueOf(output, "max_cuda", ""), "unknown");
  EXPECT_EQ(ValueOf(output, "known_bad", ""), "unknown");
}

TEST(Driver, SeesPackagesOfTwoVersions) {
  FakeHost host = HostWith({GpuXml("1B", "")});
  host.AddFile("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Tue Jun 6\n");
  host.AddCommand(
      "dpkg-query -W",
      "libnvidia-compute-550:amd64\t550.54.14-0ubuntu1\nnvidia-utils-550\t550.90.07-0\n");
  const auto output = RunGpuCheck("gpu.driver", host);
  EXPECT_EQ(ValueOf(output, "skew", ""), "false");
  EXPECT_EQ(ValueOf(output, "half_installed", ""), "true");
  EXPECT_EQ(ValueOf(output, "max_cuda", ""), "12.4");
}

TEST(Driver, AModuleForAnOlderKernelIsNoHalfInstallation) {
  constexpr char kLibraries[] = "nvidia-driver-cuda-libs-550.127.05-1.el9.x86_64\n";
  constexpr char kOld[] = "kmod-nvidia-550.54.14-5.14.0-362.18.1-550.54.14-3.el9_3.x86_64\n";
  constexpr char kNew[] = "kmod-nvidia-550.127.05-5.14.0-503.11.1-550.127.05-3.el9_5.x86_64\n";
  for (const std::string& modules : {std::string(kOld) + kNew, std::string(kNew) + kOld}) {
    FakeHost host = HostWith({GpuXml("1B", "")});
    host.AddCommand("rpm -qa", kLibraries + modules);
    EXPECT_EQ(ValueOf(RunGpuCheck("gpu.driver", host), "half_installed", ""), "false");
  }
  FakeHost half = HostWith({GpuXml("1B", "")});
  half.AddCommand("rpm -qa", std::string(kLibraries) + kOld);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.driver", half), "half_installed", ""), "true");
}

// dpkg-query lists removed packages too.
constexpr char kTwoBranches[] =
    "libnvidia-compute-550:amd64\t550.54.14-0ubuntu1\nnvidia-utils-550\t550.54.14-0\n"
    "libnvidia-compute-570:amd64\t570.86.10-0ubuntu1\nnvidia-utils-535\t535.86.10-0\n";

TEST(Driver, PackagesOfAnotherBranchMayBeRemovedOnes) {
  FakeHost host = HostWith({GpuXml("1B", "")});
  host.AddFile("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Tue Jun 6\n");
  host.AddCommand("dpkg-query -W", kTwoBranches);
  const auto output = RunGpuCheck("gpu.driver", host);
  EXPECT_EQ(ValueOf(output, "skew", ""), "false");
  EXPECT_EQ(ValueOf(output, "half_installed", ""), "false");
  EXPECT_EQ(ValueOf(output, "userspace_version", ""), "550.54.14");
}

TEST(Driver, WhereTheDriverDoesNotAnswerSeveralBranchesLeaveTheSkewOpen) {
  FakeHost host;
  host.AddFile("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Tue Jun 6\n");
  host.AddCommand("dpkg-query -W", kTwoBranches);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.driver", host), "skew", ""), "unknown");
}

TEST(Firmware, CountsVersionsWithinOneModel) {
  const auto gpu = [](const char* bus, const char* vbios, const char* product) {
    return GpuXml(bus, absl::StrCat("<vbios_version>", vbios, "</vbios_version>"), product);
  };
  const FakeHost mixed = HostWith({gpu("1B", "92.1", "A"), gpu("2B", "94.7", "B")});
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.firmware", mixed), "vbios_versions_distinct", ""), "1");
  const FakeHost uneven = HostWith({gpu("1B", "92.1", "A"), gpu("2B", "92.2", "A")});
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.firmware", uneven), "vbios_versions_distinct", ""), "2");
}

TEST(GpuChecks, GiveTheSameTwice) {
  const FakeHost host = HostWith({GpuXml("1B", Ecc(1)), GpuXml("2B", Ecc(0))});
  for (const NamedCheck& check : GpuChecks()) {
    const auto first = RunGpuCheck(check.name, host);
    const auto second = RunGpuCheck(check.name, host);
    ASSERT_EQ(first.status(), second.status()) << check.name;
    if (!first.ok()) continue;
    EXPECT_EQ(first->message, second->message);
    ASSERT_EQ(first->findings.size(), second->findings.size());
    for (std::size_t i = 0; i < first->findings.size(); ++i) {
      EXPECT_EQ(first->findings[i].SerializeAsString(), second->findings[i].SerializeAsString());
    }
  }
}

}  // namespace
}  // namespace galen::node
