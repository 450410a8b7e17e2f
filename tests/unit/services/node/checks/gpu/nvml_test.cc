#include "services/node/checks/gpu/nvml_source.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "check_fixture.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/nvidia_smi.h"
#include "tests/testing/status_matchers.h"

// The real path through dlopen, with the library of fake_nvml.cc.
namespace galen::node {
namespace nvml_test {

using ::galen::testing::FakeHost;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// One healthy GPU, in the script of the library.
constexpr char kGpu[] = R"({
  "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
  "nvmlDeviceGetArchitecture": 9,
  "nvmlDeviceGetUUID": "GPU-5d0f",
  "nvmlDeviceGetSerial": "1654422006536",
  "nvmlDeviceGetPciInfo_v3": "00000000:1B:00.0",
  "nvmlDeviceGetVbiosVersion": "96.00.61.00.01",
  "nvmlDeviceGetInforomImageVersion": "G520.0200.00.05",
  "nvmlDeviceValidateInforom": 0,
  "nvmlDeviceGetGspFirmwareVersion": "550.54.14",
  "nvmlDeviceGetVirtualizationMode": 0,
  "nvmlDeviceGetPerformanceState": 0,
  "nvmlDeviceGetComputeMode": 0,
  "nvmlDeviceGetPersistenceMode": 1,
  "nvmlDeviceGetUtilizationRates": [97, 40],
  "nvmlDeviceGetMemoryInfo_v2": [85520809984, 1073741824],
  "nvmlDeviceGetBAR1MemoryInfo": 137438953472,
  "nvmlDeviceGetEccMode": [1, 1],
  "nvmlDeviceGetMemoryErrorCounter/0/0/2": 7, "nvmlDeviceGetMemoryErrorCounter/1/0/2": 2,
  "nvmlDeviceGetMemoryErrorCounter/0/1/2": 9, "nvmlDeviceGetMemoryErrorCounter/1/1/2": 3,
  "nvmlDeviceGetMemoryErrorCounter/0/0/7": 0, "nvmlDeviceGetMemoryErrorCounter/1/0/7": 0,
  "nvmlDeviceGetMemoryErrorCounter/0/1/7": 0, "nvmlDeviceGetMemoryErrorCounter/1/1/7": 1,
  "nvmlDeviceGetSramEccErrorStatus": 0,
  "nvmlDeviceGetRemappedRows": [0, 2, 1, 0],
  "nvmlDeviceGetRowRemapperHistogram": 0,
  "nvmlDeviceGetTemperature/0": 41,
  "nvmlDeviceGetMarginTemperature": 46, "field/194/0": 2, "field/82/0": 51,
  "field/186/0": 345670,
  "nvmlDeviceGetEnforcedPowerLimit": 650000,
  "nvmlDeviceGetPowerManagementDefaultLimit": 700000,
  "nvmlDeviceGetPowerManagementLimitConstraints": [200000, 700000],
  "nvmlDeviceGetClockInfo/1": 1980, "nvmlDeviceGetMaxClockInfo/1": 1980,
  "nvmlDeviceGetApplicationsClock/0": 1755, "nvmlDeviceGetDefaultApplicationsClock/0": 1980,
  "nvmlDeviceGetApplicationsClock/2": 2619, "nvmlDeviceGetDefaultApplicationsClock/2": 2619,
  "nvmlDeviceGetCurrentClocksEventReasons": 68,
  "nvmlDeviceGetCurrPcieLinkGeneration": 5, "nvmlDeviceGetMaxPcieLinkGeneration": 5,
  "nvmlDeviceGetCurrPcieLinkWidth": 8, "nvmlDeviceGetMaxPcieLinkWidth": 16,
  "nvmlDeviceGetPcieReplayCounter": 5,
  "nvmlDeviceGetGpuFabricInfoV": [3, 0, 426, 1],
  "nvmlDeviceGetMigMode": [0, 0],
  "nvmlDeviceGetComputeRunningProcesses_v3": [[4711, 1048576000]],
  "nvmlDeviceGetGraphicsRunningProcesses_v3": [],
  "field/230/0": 0
})";

// The same machine in the output of nvidia-smi.
constexpr char kXml[] = R"(<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><driver_version>550.54.14</driver_version><cuda_version>12.4</cuda_version>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:1B:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name>
<product_architecture>Hopper</product_architecture><persistence_mode>Enabled</persistence_mode>
<mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
<mig_devices>None</mig_devices><serial>1654422006536</serial><uuid>GPU-5d0f</uuid>
<vbios_version>96.00.61.00.01</vbios_version>
<inforom_version><img_version>G520.0200.00.05</img_version></inforom_version>
<gsp_firmware_version>550.54.14</gsp_firmware_version>
<gpu_virtualization_mode><virtualization_mode>None</virtualization_mode></gpu_virtualization_mode>
<gpu_recovery_action>None</gpu_recovery_action>
<pci><pci_bus_id>00000000:1B:00.0</pci_bus_id><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
</pci_gpu_link_info><replay_counter>5</replay_counter></pci>
<performance_state>P0</performance_state>
<clocks_event_reasons>
<clocks_event_reason_applications_clocks_setting>Not Active</clocks_event_reason_applications_clocks_setting>
<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown>
</clocks_event_reasons>
<fb_memory_usage><total>81559 MiB</total><used>1024 MiB</used></fb_memory_usage>
<bar1_memory_usage><total>131072 MiB</total></bar1_memory_usage>
<compute_mode>Default</compute_mode><utilization><gpu_util>97 %</gpu_util></utilization>
<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
<ecc_errors><volatile><sram_correctable>0</sram_correctable>
<sram_uncorrectable_parity>0</sram_uncorrectable_parity><sram_uncorrectable_secded>0</sram_uncorrectable_secded>
<dram_correctable>7</dram_correctable><dram_uncorrectable>2</dram_uncorrectable></volatile>
<aggregate><sram_correctable>0</sram_correctable>
<sram_uncorrectable_parity>0</sram_uncorrectable_parity><sram_uncorrectable_secded>1</sram_uncorrectable_secded>
<dram_correctable>9</dram_correctable><dram_uncorrectable>3</dram_uncorrectable>
<sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate></ecc_errors>
<retired_pages><multiple_single_bit_retirement><retired_count>N/A</retired_count></multiple_single_bit_retirement>
<pending_retirement>N/A</pending_retirement></retired_pages>
<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>2</remapped_row_unc>
<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure>
<row_remapper_histogram><row_remapper_histogram_none>0 bank(s)</row_remapper_histogram_none></row_remapper_histogram></remapped_rows>
<temperature><gpu_temp>41 C</gpu_temp><gpu_temp_tlimit>46 C</gpu_temp_tlimit>
<gpu_temp_slow_tlimit_threshold>2 C</gpu_temp_slow_tlimit_threshold><memory_temp>51 C</memory_temp></temperature>
<gpu_power_readings><instant_power_draw>345.67 W</instant_power_draw>
<current_power_limit>650.00 W</current_power_limit><default_power_limit>700.00 W</default_power_limit>
<max_power_limit>700.00 W</max_power_limit></gpu_power_readings>
<clocks><sm_clock>1980 MHz</sm_clock></clocks><max_clocks><sm_clock>1980 MHz</sm_clock></max_clocks>
<applications_clocks><graphics_clock>1755 MHz</graphics_clock><mem_clock>2619 MHz</mem_clock></applications_clocks>
<default_applications_clocks><graphics_clock>1980 MHz</graphics_clock><mem_clock>2619 MHz</mem_clock></default_applications_clocks>
<processes><process_info><pid>4711</pid><type>C</type><process_name>python3</process_name>
<used_memory>1000 MiB</used_memory></process_info></processes>
<fabric><state>Completed</state><status>Success</status>
<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid><health><bandwidth>Full</bandwidth>
<route_recovery_in_progress>False</route_recovery_in_progress><route_unhealthy>False</route_unhealthy>
<access_timeout_recovery>False</access_timeout_recovery></health></fabric>
</gpu></nvidia_smi_log>
)";

class Nvml : public ::testing::Test {
 protected:
  Nvml() : path_(absl::StrCat(::testing::TempDir(), "/nvml-", getpid(), ".json")) {
    setenv("GALEN_FAKE_NVML", path_.c_str(), 1);
    std::filesystem::remove(path_ + ".release");
    host_.SetLive(true);
    Use({.library = GALEN_FAKE_NVML_LIBRARY,
         .time = absl::Minutes(1),
         .age = absl::ZeroDuration()});
  }
  ~Nvml() override {
    // Calls that hang continue, and end before the next test.
    std::ofstream(path_ + ".release") << "go on\n";
    while (OpenCount() > 0) std::this_thread::yield();
    Use({});
  }

  static void Use(nvml::Source::Options options) {
    nvml::Source::OfProcess().Configure(std::move(options));
  }

  void Script(absl::string_view json) { std::ofstream(path_) << json; }
  // A machine of these GPUs.
  void Gpus(const std::vector<std::string>& gpus) {
    std::string json = R"({"driver": "550.54.14", "cuda": 12040, "names": {"4711": "python3"}, )";
    absl::StrAppend(&json, "\"gpus\": [");
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      absl::StrAppend(&json, i == 0 ? "" : ",\n", gpus[i]);
    }
    Script(absl::StrCat(json, "]}"));
  }

  // The healthy GPU with one answer changed or added.
  static std::string GpuWith(absl::string_view name, absl::string_view answer) {
    // If a key occurs twice, the last one counts.
    return absl::StrReplaceAll(
        kGpu,
        {{"\"field/230/0\": 0", absl::StrCat("\"field/230/0\": 0, \"", name, "\": ", answer)}});
  }

  // The number of callers that have the library open.
  static int OpenCount() {
    void* const library = dlopen(GALEN_FAKE_NVML_LIBRARY, RTLD_LAZY);
    return reinterpret_cast<int (*)()>(dlsym(library, "FakeNvmlOpenCount"))();
  }

  std::string path_;
  FakeHost host_;
};

TEST_F(Nvml, GivesTheStateThatNvidiaSmiGivesOfTheSameMachine) {
  Gpus({kGpu});
  const auto live = QueryGpus(host_);
  ASSERT_TRUE(live.ok()) << live.status();
  FakeHost bundle;
  bundle.AddCommand("nvidia-smi -q -x", kXml);
  const auto captured = QueryGpus(bundle);
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_EQ(live->source, "NVML");
  EXPECT_EQ(captured->source, "nvidia-smi -q -x");
  EXPECT_EQ(live->driver_version, captured->driver_version);
  EXPECT_EQ(live->cuda_version, captured->cuda_version);
  ASSERT_EQ(live->gpus.size(), captured->gpus.size());
  const Gpu& left = live->gpus[0];
  const Gpu& right = captured->gpus[0];
  // Parts first, so that a difference shows where it is.
  EXPECT_TRUE(left.ecc == right.ecc);
  EXPECT_TRUE(left.row_remap == right.row_remap);
  EXPECT_TRUE(left.retired_pages == right.retired_pages);
  EXPECT_TRUE(left.thermal == right.thermal);
  EXPECT_TRUE(left.power == right.power);
  EXPECT_TRUE(left.clocks == right.clocks);
  EXPECT_TRUE(left.throttle == right.throttle);
  EXPECT_TRUE(left.pcie == right.pcie);
  EXPECT_TRUE(left.fabric == right.fabric);
  EXPECT_TRUE(left.mig == right.mig);
  EXPECT_TRUE(left.processes == right.processes);
  EXPECT_TRUE(left == right);
  // The state is not empty.
  EXPECT_EQ(left.ecc.lifetime.sram_uncorrectable, 1);
  EXPECT_EQ(left.thermal.margin_to_slowdown, 44);
  EXPECT_EQ(left.fabric.health_bad, false);
}

TEST_F(Nvml, EveryCheckFindsTheSameThroughBothSources) {
  Gpus({kGpu});
  FakeHost bundle;
  bundle.AddCommand("nvidia-smi -q -x", kXml);
  // Findings that only one of them has: the duration, and the rate, which takes two readings.
  const auto told = [](const absl::StatusOr<CheckOutput>& output) {
    std::string text;
    if (!output.ok()) return std::string(output.status().message());
    for (const galen::v1::Finding& finding : output->findings) {
      if (finding.name() == "duration_s" || finding.name() == "replay_rate_per_min") continue;
      absl::StrAppend(&text, finding.name(), " ", finding.subject().device(), " ",
                      knowledge::ValueText(finding), "\n");
    }
    return text;
  };
  for (const char* check :
       {"gpu.inventory", "gpu.smi_health", "gpu.ecc", "gpu.row_remap", "gpu.page_retirement",
        "gpu.inforom", "gpu.firmware", "gpu.thermal", "gpu.power", "gpu.clocks", "gpu.throttle",
        "gpu.pcie_link", "gpu.fabric_state", "gpu.settings", "gpu.processes", "gpu.recovery_action",
        "gpu.driver"}) {
    EXPECT_EQ(told(RunGpuCheck(check, host_)), told(RunGpuCheck(check, bundle))) << check;
  }
}

TEST_F(Nvml, AFieldThatIsNotPermittedOrNotSupportedIsUnknownAndNotZero) {
  Gpus({GpuWith("nvmlDeviceGetMemoryErrorCounter/1/0/2", R"({"error": 4})"),
        GpuWith("nvmlDeviceGetRemappedRows", R"({"error": 3})")});
  const auto state = QueryGpus(host_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->gpus[0].ecc.since_boot.dram_uncorrectable, std::nullopt);
  EXPECT_EQ(state->gpus[0].ecc.since_boot.dram_correctable, 7);
  EXPECT_EQ(state->gpus[1].row_remap.pending, std::nullopt);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.ecc", host_), "dram_uncorrectable_volatile", "gpu:0"),
            "unknown");
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host_)->excerpt, HasSubstr("Insufficient Permissions"));
}

TEST_F(Nvml, ALostGpuStaysVisibleAsLost) {
  Gpus({kGpu, R"({"handle": {"error": 15}})",
        GpuWith("nvmlDeviceGetVbiosVersion", R"({"error": 15})")});
  const auto state = QueryGpus(host_);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->gpus.size(), 3u);
  EXPECT_FALSE(state->gpus[0].lost);
  EXPECT_TRUE(state->gpus[1].lost);
  EXPECT_TRUE(state->gpus[2].lost);
  // It is not asked again, and no value is invented.
  EXPECT_EQ(state->gpus[2].thermal.core, std::nullopt);
  const auto health = RunGpuCheck("gpu.smi_health", host_);
  EXPECT_EQ(ValueOf(health, "exit_code", ""), "15");
  EXPECT_THAT(ValueOf(health, "error_text", ""), HasSubstr("GPU is lost"));
  const auto inventory = RunGpuCheck("gpu.inventory", host_);
  EXPECT_EQ(ValueOf(inventory, "gpu_count_driver", ""), "1");
  EXPECT_EQ(ValueOf(inventory, "gpu_count_expected", ""), "3");
  EXPECT_THAT(MessageOf(inventory), HasSubstr("GPU 1 is lost"));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.recovery_action", host_), "action", "gpu:1"), "NODE_REBOOT");
  EXPECT_EQ(OpenCount(), 0);
}

TEST_F(Nvml, AGpuThatIsCountedAndNotHandedOutIsMissing) {
  Gpus({kGpu, R"({"handle": {"error": 999}})"});
  const auto inventory = RunGpuCheck("gpu.inventory", host_);
  EXPECT_EQ(ValueOf(inventory, "gpu_count_driver", ""), "1");
  EXPECT_EQ(ValueOf(inventory, "gpu_count_expected", ""), "2");
  EXPECT_THAT(MessageOf(inventory), HasSubstr("GPU 1 cannot be reached"));
  // One that this caller may not see is there.
  Gpus({kGpu, R"({"handle": {"error": 4}})"});
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inventory", host_), "gpu_count_driver", ""), "2");
}

TEST_F(Nvml, ALeftoverIsSeenBesideAJobWithoutAContainer) {
  Gpus({kGpu, GpuWith("nvmlDeviceGetComputeRunningProcesses_v3", "[[200, 1048576000]]")});
  host_.SetJobEnvironment({{"RANK", "0"}});
  // The job's root is the machine's, and so shows everybody's processes.
  host_.AddFile("/proc/self/status", "Name:\ttorchrun\nPid:\t4700\n", host::View::kJob);
  host_.AddFile("/proc/200/status", "Name:\tpython3\nPid:\t200\n", host::View::kJob);
  host_.AddCommand(
      "ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args",
      "4700 1 u S - 9 1 0.0 torchrun torchrun\n4711 4700 u S - 9 1 0.0 python3 python3\n"
      "200 1 u S - 9 1 0.0 python3 python3\n");
  const auto output = RunGpuCheck("gpu.processes", host_);
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:1"), "true");
}

TEST_F(Nvml, AGpuThatNeedsAResetAsksForIt) {
  Gpus({GpuWith("nvmlDeviceGetTemperature/0", R"({"error": 16})")});
  const auto state = QueryGpus(host_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(state->gpus[0].requires_reset);
}

TEST_F(Nvml, AnotherVersionOfTheDriverIsSkewInItsOwnWords) {
  Script(R"({"init": 18, "gpus": []})");
  host_.AddFile("/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu\n");
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host_),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("exit code 18"), HasSubstr("version mismatch"))));
  const auto health = RunGpuCheck("gpu.smi_health", host_);
  EXPECT_EQ(ValueOf(health, "exit_code", ""), "18");
  EXPECT_EQ(ValueOf(health, "error_text", ""),
            "Failed to initialize NVML: Driver/library version mismatch");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.driver", host_), "skew", ""), "true");
}

TEST_F(Nvml, ADriverThatIsNotLoadedIsAnError) {
  Script(R"({"init": 9, "gpus": []})");
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Driver Not Loaded")));
}

TEST_F(Nvml, ACallThatHangsIsAFindingAndHoldsNobody) {
  Use({.library = GALEN_FAKE_NVML_LIBRARY, .time = absl::Milliseconds(300)});
  Gpus(
      {kGpu, GpuWith("nvmlDeviceGetPowerUsage", R"({"hang": true}, "field/186/0": {"error": 3})")});
  const auto health = RunGpuCheck("gpu.smi_health", host_);
  EXPECT_EQ(ValueOf(health, "hung", ""), "true");
  EXPECT_EQ(ValueOf(health, "exit_code", ""), "unknown");
  // The next one does not wait for it again, nor starts another.
  EXPECT_THAT(RunGpuCheck("gpu.ecc", host_),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("hangs")));
}

TEST_F(Nvml, AfterAHangThatEndedItAnswersAgain) {
  Use({.library = GALEN_FAKE_NVML_LIBRARY, .time = absl::Milliseconds(300)});
  Script(R"({"init_hangs": true, "init": 0, "gpus": []})");
  EXPECT_TRUE(absl::IsDeadlineExceeded(QueryGpus(host_).status()));
  Gpus({kGpu});
  std::ofstream(path_ + ".release") << "go on\n";
  absl::StatusOr<GpuState> state = absl::UnknownError("not asked");
  while (!state.ok() || state->gpus.empty()) state = QueryGpus(host_);
  EXPECT_EQ(state->gpus.size(), 1u);
}

TEST_F(Nvml, ACorruptedInforomNamesItsGpu) {
  Gpus({kGpu, GpuWith("nvmlDeviceValidateInforom", R"({"error": 14})")});
  const auto output = RunGpuCheck("gpu.inforom", host_);
  EXPECT_EQ(ValueOf(output, "corrupted", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "corrupted", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(output, "smi_exit_code", ""), "14");
}

TEST_F(Nvml, AnOlderDriverTellsItsFabricToo) {
  Gpus({GpuWith("nvmlDeviceGetGpuFabricInfoV", "[2, 0, 0]"),
        GpuWith("nvmlDeviceGetGpuFabricInfoV", "[3, 0, 417, 2]")});
  const auto output = RunGpuCheck("gpu.fabric_state", host_);
  EXPECT_EQ(ValueOf(output, "state", "gpu:0"), "IN_PROGRESS");
  EXPECT_EQ(ValueOf(output, "health_mask_bad", "gpu:1"), "true");
}

TEST_F(Nvml, AFabricWithAClusterSpansMachinesOnceItsProbeIsThrough) {
  Gpus({kGpu, GpuWith("nvmlDeviceGetGpuFabricInfoV", "[3, 0, 426, 1, 93]"),
        GpuWith("nvmlDeviceGetGpuFabricInfoV", "[2, 0, 426, 1, 93]")});
  const auto state = QueryNvidia(host_);
  ASSERT_THAT(state, testing::IsOk());
  EXPECT_EQ(state->gpus[0].fabric.spans_machines, false);
  EXPECT_EQ(state->gpus[1].fabric.spans_machines, true);
  EXPECT_EQ(state->gpus[2].fabric.spans_machines, std::nullopt);
}

TEST_F(Nvml, ReplaysThatGoOnHaveARate) {
  const std::map<std::string, std::string> window = {{"window_s", "0.05"},
                                                     {"long_window_s", "0.1"}};
  Gpus({kGpu,
        GpuWith("nvmlDeviceGetPcieReplayCounter",
                R"({"start": 5, "step": 30}, "nvmlDeviceGetUUID": "GPU-2")"),
        GpuWith("nvmlDeviceGetPcieReplayCounter",
                R"({"start": 5, "step": 3}, "nvmlDeviceGetUUID": "GPU-3")")});
  const auto output = RunGpuCheck("gpu.pcie_errors", host_, {}, window);
  EXPECT_EQ(ValueOf(output, "replay_rate_per_min", "gpu:0"), "0");
  double rate = 0;
  EXPECT_TRUE(absl::SimpleAtod(ValueOf(output, "replay_rate_per_min", "gpu:1"), &rate));
  // Gen5, of whose lanes 8 are used.
  EXPECT_EQ(ValueOf(output, "replay_limit_per_min", "gpu:1"), "16");
  EXPECT_GT(rate, 16);
  // A burst may have as many replays as a whole minute: it says nothing about the minute.
  EXPECT_EQ(ValueOf(output, "replay_rate_per_min", "gpu:2"), "unknown");
  EXPECT_THAT(MessageOf(output), HasSubstr("while it was watched"));
  EXPECT_THAT(MessageOf(output), HasSubstr("replays a minute"));
}

TEST_F(Nvml, LinksAreToldWithoutNvidiaSmiAndWhetherTheirErrorsGrow) {
  std::string links;
  for (int link = 0; link < 18; ++link) {
    absl::StrAppend(&links, ", \"nvmlDeviceGetNvLinkState/", link, "\": ", link == 3 ? 0 : 1);
    absl::StrAppend(&links, ", \"nvmlDeviceGetNvLinkErrorCounter/", link, "/2\": ",
                    link == 5   ? R"({"start": 1, "step": 1})"
                    : link == 6 ? "4"
                                : "0");
  }
  Gpus({GpuWith("x", absl::StrCat("0", links))});
  const auto status = RunGpuCheck("gpu.nvlink_status", host_, KnownModels());
  EXPECT_EQ(ValueOf(status, "links_active", "gpu:0"), "17");
  EXPECT_EQ(ValueOf(status, "links_inactive", "gpu:0"), "1");
  const auto errors = RunGpuCheck("gpu.nvlink_errors", host_, {},
                                  {{"window_s", "0.02"}, {"long_window_s", "0.02"}});
  EXPECT_EQ(ValueOf(errors, "growing", "gpu:0/link:5"), "true");
  EXPECT_EQ(ValueOf(errors, "growing", "gpu:0/link:6"), "false");
  EXPECT_EQ(ValueOf(errors, "crc_errors", "gpu:0/link:6"), "4");
  EXPECT_EQ(ValueOf(errors, "crc_errors", "gpu:0/link:3"), "(none)");
  Gpus({GpuWith("nvmlDeviceGetNvLinkState/0", "1")});
  EXPECT_THAT(RunGpuCheck("gpu.nvlink_errors", host_, {},
                          {{"window_s", "0.02"}, {"long_window_s", "0.02"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no error counter")));
}

TEST_F(Nvml, ALoneGpuOfABaseboardMayHaveNothingToLinkTo) {
  std::string links;
  for (int link = 0; link < 18; ++link) {
    absl::StrAppend(&links, ", \"nvmlDeviceGetNvLinkState/", link, "\": 0");
  }
  const std::string gpu = GpuWith("x", absl::StrCat("0", links));
  Gpus({gpu});
  EXPECT_THAT(RunGpuCheck("gpu.nvlink_status", host_, KnownModels()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("the only GPU")));
  // One that cannot be reached is one more.
  Gpus({gpu, R"({"handle": {"error": 15}})"});
  EXPECT_EQ(
      ValueOf(RunGpuCheck("gpu.nvlink_status", host_, KnownModels()), "links_inactive", "gpu:0"),
      "18");
}

TEST_F(Nvml, NothingIsLeftOpenThatSomebodyWantsToReset) {
  Gpus({kGpu});
  ASSERT_TRUE(QueryGpus(host_).ok());
  EXPECT_EQ(OpenCount(), 0);
}

TEST_F(Nvml, ABundleIsNeverAskedThroughIt) {
  Gpus({kGpu});
  host_.SetLive(false);
  EXPECT_TRUE(absl::IsUnavailable(QueryGpus(host_).status()));
}

TEST_F(Nvml, WhereItIsNotToBeFoundNvidiaSmiAnswers) {
  Use({.library = "/nowhere/libnvidia-ml.so.1"});
  host_.AddCommand("nvidia-smi -q -x", kXml);
  const auto state = QueryGpus(host_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->source, "nvidia-smi -q -x");
}

TEST(NvmlLibrary, IsSoughtBelowTheContainerisedDriverToo) {
  EXPECT_THAT(nvml::LibraryCandidates(""), ::testing::Contains(HasSubstr("/run/nvidia/driver/")));
  EXPECT_THAT(nvml::LibraryCandidates("/opt/x.so"), ::testing::ElementsAre("/opt/x.so"));
}

TEST(NvmlLibrary, TheEnvironmentMayNameIt) {
  setenv("GALEN_NVML_LIBRARY", "/opt/driver/libnvidia-ml.so.1", 1);
  EXPECT_EQ(nvml::Source::OptionsOfEnvironment().library, "/opt/driver/libnvidia-ml.so.1");
  unsetenv("GALEN_NVML_LIBRARY");
  EXPECT_EQ(nvml::Source::OptionsOfEnvironment().library, "");
}

TEST(NvmlLibrary, AFileThatIsNoLibraryIsNoAbsence) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/no-library-", getpid());
  std::ofstream(path) << "not an ELF file";
  EXPECT_THAT(nvml::LoadLibrary(path),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("cannot be loaded")));
  EXPECT_TRUE(absl::IsNotFound(nvml::LoadLibrary("/nowhere/x.so").status()));
}

}  // namespace nvml_test
}  // namespace galen::node
