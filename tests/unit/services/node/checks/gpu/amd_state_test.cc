#include "services/node/checks/gpu/amd_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "check_fixture.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kStatic[] = R"([{"gpu": 0,
  "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0xAB", "target_graphics_version": "gfx942"},
  "bus": {"bdf": "0000:05:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
  "vbios": {"version": "022.040.003.042"},
  "limit": {"max_power": {"value": 750, "unit": "W"}, "socket_power": {"value": 600, "unit": "W"},
            "slowdown_hotspot_temperature": {"value": 100, "unit": "C"}},
  "driver": {"name": "amdgpu", "version": "6.8.5"},
  "ras": {"bad_page_threshold": 4, "ecc_block_state": {"UMC": "ENABLED"}},
  "vram": {"size": {"value": 196592, "unit": "MB"}}},
 {"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X"}, "bus": {"bdf": "0000:26:00.0"}}])";

constexpr char kMetric[] = R"({"gpu_data": [{"gpu": 0,
  "usage": {"gfx_activity": {"value": 95, "unit": "%"}},
  "power": {"socket_power": {"value": 612, "unit": "W"}},
  "clock": {"gfx_0": {"clk": {"value": 900, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}}},
  "temperature": {"edge": "N/A", "hotspot": {"value": 97, "unit": "C"}, "mem": {"value": 60, "unit": "C"}},
  "pcie": {"width": 8, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": 3},
  "ecc_blocks": {"UMC": {"correctable_count": 12, "uncorrectable_count": 1},
                 "GFX": {"correctable_count": 0, "uncorrectable_count": 2},
                 "XGMI_WAFL": {"correctable_count": 7, "uncorrectable_count": 0}},
  "mem_usage": {"used_vram": {"value": 285, "unit": "MB"}},
  "throttle": {"socket_thermal_violation_status": "ACTIVE", "hbm_thermal_violation_status": "NOT ACTIVE",
               "prochot_violation_status": "NOT ACTIVE", "ppt_violation_status": "N/A"}},
  {"gpu": 1, "usage": {"gfx_activity": "N/A"}, "temperature": {"hotspot": "N/A"}}]})";

constexpr char kBadPages[] =
    R"([{"gpu": 0, "retired": [{"page_address": "0x1"}, {"page_address": "0x2"}, {}, {}],
         "pending": "No bad pages found.", "un_res": "No bad pages found."},
        {"gpu": 1, "retired": "No bad pages found.", "pending": "No bad pages found."}])";

FakeHost Instinct() {
  FakeHost host;
  host.AddAbsentCommand("nvidia-smi -q -x");
  host.AddAbsentCommand("nvidia-smi topo -m");
  host.AddCommand("amd-smi static --json", kStatic);
  host.AddCommand("amd-smi metric --json", kMetric);
  host.AddCommand("amd-smi bad-pages --json", kBadPages);
  return host;
}

TEST(AmdSmi, FillsTheStateThatNvidiaFills) {
  const auto state = QueryAmd(Instinct());
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->gpus.size(), 2u);
  const Gpu& gpu = state->gpus[0];
  EXPECT_EQ(state->driver_version, "6.8.5");
  EXPECT_EQ(gpu.vendor, "AMD");
  EXPECT_EQ(gpu.product, "AMD Instinct MI300X");
  EXPECT_EQ(gpu.pci_address, "0000:05:00.0");
  EXPECT_EQ(gpu.ecc.since_boot.dram_uncorrectable, 1);
  EXPECT_EQ(gpu.ecc.since_boot.sram_uncorrectable, 2);
  EXPECT_EQ(gpu.xgmi.correctable, 7);
  EXPECT_EQ(gpu.thermal.core, 97);
  EXPECT_EQ(gpu.thermal.margin_to_slowdown, 3);
  EXPECT_EQ(gpu.power.draw, 612);
  EXPECT_EQ(gpu.power.limit, 600);
  EXPECT_EQ(gpu.power.default_limit, 750);
  EXPECT_EQ(gpu.pcie.gen_max, 5);
  EXPECT_EQ(gpu.pcie.width_current, 8);
  EXPECT_EQ(gpu.throttle.hw_thermal, true);
  EXPECT_EQ(gpu.throttle.sw_power_cap, std::nullopt);
  EXPECT_EQ(state->gpus[1].thermal.core, std::nullopt);
  EXPECT_EQ(state->gpus[1].ecc.since_boot.dram_uncorrectable, std::nullopt);
}

TEST(AmdSmi, EveryCheckThatIsNotOnlyOfNvidiaWorksOnIt) {
  const FakeHost host = Instinct();
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.ecc", host), "dram_uncorrectable_volatile", "gpu:0"), "1");
  const auto pages = RunGpuCheck("gpu.page_retirement", host);
  EXPECT_EQ(ValueOf(pages, "bad_pages", "gpu:0"), "4");
  // The limit of NVIDIA's is not AMD's.
  EXPECT_EQ(ValueOf(pages, "retired_pages", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(pages, "bad_page_threshold_reached", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(pages, "bad_page_threshold_reached", "gpu:1"), "false");
  const auto thermal = RunGpuCheck("gpu.thermal", host, KnownModels());
  EXPECT_EQ(ValueOf(thermal, "core_c", "gpu:0"), "97");
  EXPECT_EQ(ValueOf(thermal, "core_limit_c", "gpu:0"), "100");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.power", host), "limit_w", "gpu:0"), "600");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.throttle", host), "hw_thermal", "gpu:0"), "true");
  EXPECT_THAT(ValueOf(RunGpuCheck("gpu.clocks", host), "ratio_busy", "gpu:0"), HasSubstr("0.42"));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.pcie_link", host), "downgraded", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.pcie_errors", host), "replay_count", "gpu:0"), "3");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.driver", host), "module_version", ""), "6.8.5");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.processes", host), "memory_used_mib", "gpu:0"), "285");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.firmware", host), "vbios_versions_distinct", ""), "1");
  // Checks of features that only NVIDIA has are skipped, not failed.
  for (const char* check : {"gpu.row_remap", "gpu.settings", "gpu.fabric_state", "gpu.inforom"}) {
    EXPECT_TRUE(absl::IsNotFound(RunGpuCheck(check, host).status())) << check;
  }
}

TEST(AmdSysfs, ALiveNodeNeedsNoTool) {
  FakeHost host;
  const std::string card = "/sys/class/drm/card1/device/";
  host.AddFile(card + "vendor", "0x1002\n");
  host.AddFile("/sys/class/drm/card0/device/vendor", "0x1a03\n");
  host.AddFile(card + "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:83:00.0\n");
  host.AddFile(card + "product_name", "AMD Instinct MI100\n");
  host.AddFile(card + "current_link_speed", "16.0 GT/s PCIe\n");
  host.AddFile(card + "max_link_speed", "16.0 GT/s PCIe\n");
  host.AddFile(card + "current_link_width", "16\n");
  host.AddFile(card + "pcie_replay_count", "9\n");
  host.AddFile(card + "mem_info_vram_total", "34342961152\n");
  host.AddFile(card + "pp_dpm_sclk", "0: 300Mhz *\n1: 1502Mhz\n");
  host.AddFile(card + "hwmon/hwmon4/temp1_input", "41000\n");
  host.AddFile(card + "hwmon/hwmon4/temp2_input", "43000\n");
  host.AddFile(card + "hwmon/hwmon4/temp2_crit", "100000\n");
  host.AddFile(card + "hwmon/hwmon4/power1_average", "36000000\n");
  host.AddFile(card + "ras/umc_err_count", "ue: 2\nce: 5\n");
  host.AddFile(card + "ras/gfx_err_count", "ue: 0\nce: 1\n");
  host.AddFile(card + "ras/xgmi_wafl_err_count", "ue: 1\nce: 0\n");
  host.AddFile(card + "ras/gpu_vram_bad_pages",
               "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n");
  host.AddFile("/sys/module/amdgpu/version", "6.3.6\n");
  const auto state = QueryAmd(host);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->gpus.size(), 1u);
  const Gpu& gpu = state->gpus[0];
  EXPECT_EQ(gpu.pci_address, "0000:83:00.0");
  EXPECT_EQ(gpu.product, "AMD Instinct MI100");
  EXPECT_EQ(gpu.pcie.gen_current, 4);
  EXPECT_EQ(gpu.pcie.replays, 9);
  EXPECT_EQ(gpu.memory_total_mib, 32752);
  EXPECT_EQ(gpu.clocks.sm, 300);
  EXPECT_EQ(gpu.clocks.sm_max, 1502);
  EXPECT_EQ(gpu.thermal.core, 43);
  EXPECT_EQ(gpu.thermal.margin_to_slowdown, 57);
  EXPECT_EQ(gpu.power.draw, 36);
  EXPECT_EQ(gpu.ecc.since_boot.dram_uncorrectable, 2);
  EXPECT_EQ(gpu.ecc.since_boot.sram_correctable, 1);
  EXPECT_EQ(gpu.xgmi.uncorrectable, 1);
  EXPECT_EQ(gpu.retired_pages.count, 1);
  EXPECT_EQ(gpu.retired_pages.pending, true);
  EXPECT_EQ(state->driver_version, "6.3.6");
  const auto xgmi = RunGpuCheck("gpu.xgmi", host);
  EXPECT_EQ(ValueOf(xgmi, "uncorrectable", "gpu:0"), "1");
  EXPECT_THAT(xgmi->excerpt, HasSubstr("xgmi_wafl_err_count"));
}

// One AMD card without further data.
std::string AddCard(FakeHost& host, int number) {
  const std::string card = absl::StrCat("/sys/class/drm/card", number, "/device/");
  host.AddFile(card + "vendor", "0x1002\n");
  host.AddFile(card + "uevent", absl::StrCat("PCI_SLOT_NAME=0000:8", number, ":00.0\n"));
  return card;
}

TEST(AmdSysfs, TheSecondDieOfAModuleTellsNoPower) {
  FakeHost host;
  const std::string first = AddCard(host, 1) + "hwmon/hwmon1/";
  const std::string second = AddCard(host, 2) + "hwmon/hwmon2/";
  host.AddFile(first + "power1_average", "96000000\n");
  host.AddFile(first + "power1_cap", "560000000\n");
  host.AddFile(first + "power1_cap_default", "560000000\n");
  for (const char* file : {"power1_average", "power1_cap", "power1_cap_default"}) {
    host.AddFile(second + file, "0\n");
  }
  for (const std::string& die : {first, second}) {
    host.AddFile(die + "power1_cap_max", "560000000\n");
  }
  const auto output = RunGpuCheck("gpu.power", host);
  EXPECT_EQ(ValueOf(output, "draw_w", "gpu:0"), "96");
  EXPECT_EQ(ValueOf(output, "draw_plausible", "gpu:0"), "true");
  for (const char* name : {"draw_w", "limit_w", "default_limit_w", "draw_plausible"}) {
    EXPECT_EQ(ValueOf(output, name, "gpu:1"), "unknown") << name;
  }
  EXPECT_EQ(ValueOf(output, "sum_of_limits_w", ""), "unknown");
}

TEST(AmdSmi, TheSecondDieOfAModuleTellsNoPower) {
  FakeHost host;
  host.AddCommand("amd-smi static --json",
                  R"([{"gpu": 0, "asic": {"market_name": "AMD Instinct MI250X"},
      "bus": {"bdf": "0000:c1:00.0"}, "limit": {"max_power": {"value": 560, "unit": "W"},
      "socket_power": {"value": 560, "unit": "W"}}},
     {"gpu": 1, "asic": {"market_name": "AMD Instinct MI250X"},
      "bus": {"bdf": "0000:c6:00.0"}, "limit": {"max_power": {"value": 550, "unit": "W"},
      "socket_power": {"value": 0, "unit": "W"}}}])");
  host.AddCommand(
      "amd-smi metric --json",
      R"([{"gpu": 0, "usage": {}, "power": {"socket_power": {"value": 96, "unit": "W"}}},
     {"gpu": 1, "usage": {}, "power": {"socket_power": {"value": 0, "unit": "W"}}}])");
  const auto output = RunGpuCheck("gpu.power", host);
  EXPECT_EQ(ValueOf(output, "limit_w", "gpu:0"), "560");
  for (const char* name : {"draw_w", "limit_w", "draw_plausible"}) {
    EXPECT_EQ(ValueOf(output, name, "gpu:1"), "unknown") << name;
  }
}

TEST(AmdSysfs, ADrawOfNothingBesideALimitIsStillASensorsFault) {
  FakeHost host;
  const std::string sensors = AddCard(host, 1) + "hwmon/hwmon1/";
  host.AddFile(sensors + "power1_average", "0\n");
  host.AddFile(sensors + "power1_cap", "300000000\n");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.power", host), "draw_plausible", "gpu:0"), "false");
}

TEST(AmdSysfs, ARegisterOfOnesCountsNoError) {
  for (const char* ones : {"1048560", "1048575", "4294967295"}) {
    FakeHost host;
    const std::string ras = AddCard(host, 1) + "ras/";
    host.AddFile(ras + "umc_err_count", absl::StrCat("ue: ", ones, "\nce: ", ones, "\n"));
    host.AddFile(ras + "gfx_err_count", absl::StrCat("ue: ", ones, "\nce: 0\n"));
    host.AddFile(ras + "sdma_err_count", "ue: 0\nce: 4\n");
    host.AddFile(ras + "xgmi_wafl_err_count", absl::StrCat("ue: ", ones, "\nce: 0\n"));
    const auto state = QueryAmd(host);
    ASSERT_TRUE(state.ok()) << state.status();
    const Gpu& gpu = state->gpus[0];
    EXPECT_EQ(gpu.ecc.since_boot.dram_uncorrectable, std::nullopt) << ones;
    EXPECT_EQ(gpu.ecc.since_boot.dram_correctable, std::nullopt) << ones;
    // One of the two blocks was asleep and may have errors.
    EXPECT_EQ(gpu.ecc.since_boot.sram_uncorrectable, std::nullopt) << ones;
    EXPECT_EQ(gpu.ecc.since_boot.sram_correctable, 4) << ones;
    EXPECT_EQ(gpu.xgmi.uncorrectable, std::nullopt) << ones;
    EXPECT_EQ(gpu.xgmi.correctable, 0) << ones;
    host.AddFile(AddCard(host, 2) + "ras/umc_err_count", "ue: 0\nce: 0\n");
    const auto output = RunGpuCheck("gpu.ecc", host);
    EXPECT_EQ(ValueOf(output, "dram_uncorrectable_volatile", "gpu:0"), "unknown") << ones;
    EXPECT_EQ(ValueOf(output, "sram_uncorrectable_volatile", "gpu:0"), "unknown") << ones;
    EXPECT_EQ(ValueOf(output, "dram_uncorrectable_volatile", "gpu:1"), "0") << ones;
  }
}

TEST(AmdSysfs, WhatOtherBlocksCountedStaysBesideARegisterOfOnes) {
  RasSum sum;
  sum.Add(std::nullopt);
  EXPECT_EQ(sum.value(), std::nullopt);
  sum.Add(0);
  EXPECT_EQ(sum.value(), 0);
  sum.Add(0xFFFF0);
  EXPECT_EQ(sum.value(), std::nullopt);
  sum.Add(2);
  EXPECT_EQ(sum.value(), 2);
}

TEST(AmdSmi, ARegisterOfOnesCountsNoError) {
  const auto ecc_of = [](absl::string_view counts) {
    const auto state = ParseAmdSmi(absl::StrCat(R"([{"gpu": 0, "usage": {}, )", counts, "}]"));
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->gpus[0].ecc.since_boot : EccCounts();
  };
  const EccCounts blocks = ecc_of(
      R"("ecc_blocks": {"UMC": {"correctable_count": 1048560, "uncorrectable_count": 1048560},
                        "GFX": {"correctable_count": 3, "uncorrectable_count": 0},
                        "SDMA": {"correctable_count": 0, "uncorrectable_count": 4294967295}},
         "ecc": {"total_correctable_count": 1048700, "total_uncorrectable_count": 1048700,
                 "cache_correctable_count": 0, "cache_uncorrectable_count": 0})");
  EXPECT_EQ(blocks, (EccCounts{.dram_correctable = std::nullopt,
                               .dram_uncorrectable = std::nullopt,
                               .sram_correctable = 3,
                               .sram_uncorrectable = std::nullopt}));
  const EccCounts totals = ecc_of(
      R"("ecc": {"total_correctable_count": 5, "total_uncorrectable_count": 1048560,
                 "cache_correctable_count": 2, "cache_uncorrectable_count": 0})");
  EXPECT_EQ(totals, (EccCounts{.dram_correctable = 3,
                               .dram_uncorrectable = std::nullopt,
                               .sram_correctable = 2,
                               .sram_uncorrectable = std::nullopt}));
}

TEST(AmdSysfs, ABadPageListThatCannotBeReadLeavesItToTheTools) {
  FakeHost host = Instinct();
  const std::string card = "/sys/class/drm/card1/device/";
  host.AddFile(card + "vendor", "0x1002\n");
  host.AddFile(card + "uevent", "PCI_SLOT_NAME=0000:05:00.0\n");
  // A file below it shows that the list exists; its content was not captured.
  host.AddFile(card + "ras/gpu_vram_bad_pages/x", "");
  const auto state = QueryAmd(host);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->gpus[0].retired_pages.count, 4);
  FakeHost alone;
  alone.AddFile(card + "vendor", "0x1002\n");
  alone.AddFile(card + "ras/gpu_vram_bad_pages/x", "");
  const auto unknown = QueryAmd(alone);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_EQ(unknown->gpus[0].retired_pages, GpuRetiredPages());
}

TEST(AmdSysfs, APageThatCouldNotBeReservedIsBadAndStillInUse) {
  const GpuRetiredPages pages = ParseBadPages("0x00000001 : 0x00001000 : F\n");
  EXPECT_EQ(pages.count, 1);
  EXPECT_EQ(pages.pending, true);
  const auto told = ParseAmdSmi(
      R"([{"gpu": 0, "retired": [{}, {}], "pending": "No bad pages found.", "un_res": [{}]}])");
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->gpus[0].retired_pages.count, 3);
  EXPECT_EQ(told->gpus[0].retired_pages.pending, true);
}

TEST(AmdSysfs, AllOfALongBadPageListIsReadAndLittleOfItShown) {
  FakeHost host;
  std::string pages;
  for (int i = 0; i < 2000; ++i) pages += "0x00000001 : 0x00001000 : R\n";
  host.AddFile(AddCard(host, 1) + "ras/gpu_vram_bad_pages",
               pages + "0x00000002 : 0x00001000 : P\n");
  const auto output = RunGpuCheck("gpu.page_retirement", host);
  EXPECT_EQ(ValueOf(output, "bad_pages", "gpu:0"), "2000");
  EXPECT_EQ(ValueOf(output, "pending", "gpu:0"), "true");
  ASSERT_TRUE(output.ok());
  EXPECT_LT(output->excerpt.size(), 1000u);
}

TEST(AmdSysfs, LowClocksOfWhichNobodyTellsTheReasonAreNotWithoutOne) {
  FakeHost host;
  const std::string card = AddCard(host, 1);
  host.AddFile(card + "gpu_busy_percent", "99\n");
  host.AddFile(card + "pp_dpm_sclk", "0: 300Mhz *\n1: 1502Mhz\n");
  const auto output = RunGpuCheck("gpu.clocks", host);
  EXPECT_THAT(ValueOf(output, "ratio_busy", "gpu:0"), HasSubstr("0.19"));
  EXPECT_EQ(ValueOf(output, "low_without_reason", "gpu:0"), "unknown");
  host.AddFile(card + "pp_dpm_sclk", "0: 300Mhz\n1: 1502Mhz *\n");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.clocks", host), "low_without_reason", "gpu:0"), "false");
}

TEST(Amd, GraphicsOfTheCpuDoNotStandInForNvidiasGpus) {
  FakeHost host;
  AddCard(host, 0);
  host.AddCommand("nvidia-smi -q -x", "No devices were found\n", 6);
  const std::string graphics =
      "80:00.0 VGA compatible controller [0300]: Advanced Micro Devices X [1002:164e]\n"
      "\tKernel driver in use: amdgpu\n";
  host.AddCommand("lspci -vvv -nn", graphics);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inventory", host), "gpu_count_driver", ""), "1");
  const std::string nvidia =
      "01:00.0 3D controller [0302]: NVIDIA Corporation X [10de:20b2] (rev a1)\n"
      "\tKernel driver in use: ";
  host.AddCommand("lspci -vvv -nn", graphics + nvidia + "nvidia\n");
  const auto inventory = RunGpuCheck("gpu.inventory", host);
  EXPECT_EQ(ValueOf(inventory, "gpu_count_driver", ""), "0");
  EXPECT_EQ(ValueOf(inventory, "gpu_count_expected", ""), "1");
  // One that a guest has, the driver need not know.
  host.AddCommand("lspci -vvv -nn", graphics + nvidia + "vfio-pci\n");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inventory", host), "gpu_count_expected", ""), "1");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inventory", host), "gpu_count_driver", ""), "1");
  // Nor does a node without NVIDIA's driver owe it anything.
  host.AddCommand("lspci -vvv -nn", graphics + nvidia + "nouveau\n");
  host.AddAbsentCommand("nvidia-smi -q -x");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.inventory", host), "gpu_count_driver", ""), "1");
}

TEST(Xgmi, AMissingLinkIsAFaultOnlyWhereAllAreWiredToAll) {
  const auto host_with = [](absl::string_view series) {
    FakeHost host;
    host.AddCommand(
        "rocm-smi --showallinfo --json",
        absl::StrCat(R"({"card0": {"Card Series": ")", series, R"("}, "card1": {"Card Series": ")",
                     series, R"("}, "card2": {"Card Series": ")", series,
                     R"("}, "system": {"Driver version": "6.8.5",
            "(Topology) Link type between DRM devices 0 and 1": "XGMI",
            "(Topology) Link type between DRM devices 0 and 2": "PCIE",
            "(Topology) Link type between DRM devices 1 and 2": "XGMI"}})"));
    return host;
  };
  const FakeHost mesh = host_with("AMD Instinct MI300X");
  const auto output = RunGpuCheck("gpu.xgmi", mesh, KnownModels());
  EXPECT_EQ(ValueOf(output, "link_down", "gpu:0/link:2"), "true");
  EXPECT_EQ(ValueOf(output, "link_down", "gpu:0/link:1"), "false");
  EXPECT_THAT(MessageOf(output), HasSubstr("no XGMI link to GPU 2"));
  const auto topology = RunGpuCheck("gpu.topology", mesh);
  const FakeHost other = host_with("AMD Instinct MI250X");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.xgmi", other, KnownModels()), "link_down", "gpu:0/link:2"),
            "unknown");
}

TEST(Xgmi, ALinkSlowerThanTheModelsIsFound) {
  FakeHost host = Instinct();
  host.AddCommand("amd-smi xgmi --json",
                  R"({"xgmi_metric": [{"gpu": 0, "bdf": "0000:05:00.0", "link_metrics":
                      {"bit_rate": {"value": 16, "unit": "Gb/s"},
                       "max_bandwidth": {"value": 256, "unit": "Gb/s"}, "link_type": "XGMI"}},
                     {"gpu": 1, "link_metrics": {"max_bandwidth": {"value": 512, "unit": "Gb/s"}}}],
                     "link_status": [{"gpu": 0, "link_status": ["X", "D"]}]})");
  const auto output = RunGpuCheck("gpu.xgmi", host, KnownModels());
  EXPECT_EQ(ValueOf(output, "speed_below_expected", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "speed_below_expected", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(output, "link_down", "gpu:0/link:1"), "true");
}

TEST(AmdFirmware, AListedMesIsKnownDefectiveAndAnotherIsNot) {
  const auto host_with = [](absl::string_view mes) {
    FakeHost host;
    host.AddCommand("rocm-smi --showallinfo --json",
                    R"({"card0": {"Card Series": "Strix Halo", "GFX Version": "gfx1151"}})");
    host.AddFile("/sys/kernel/debug/dri/0/amdgpu_firmware_info",
                 absl::StrCat("VCE feature version: 0, firmware version: 0x00000000\n"
                              "MES feature version: 1, firmware version: ",
                              mes, "\nVBIOS version: 113-STRX\n"));
    return host;
  };
  const auto bad = RunGpuCheck("gpu.firmware", host_with("0x00000083"));
  EXPECT_EQ(ValueOf(bad, "mes_version", "gpu:0"), "0x00000083");
  EXPECT_EQ(ValueOf(bad, "known_defective", "gpu:0"), "true");
  EXPECT_EQ(
      ValueOf(RunGpuCheck("gpu.firmware", host_with("0x00000080")), "known_defective", "gpu:0"),
      "false");
  // A firmware version that is not in the list may be good or defective.
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.firmware", Instinct()), "known_defective", "gpu:0"),
            "unknown");
}

TEST(AmdSmi, WhatIsNoJsonOfItIsDataLossAndNoCrash) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"gpu\": {}}"),
        std::string("amd-smi: command failed"), std::string(100000, '['),
        std::string("[{\"gpu\": -1}"), std::string("\xff\xfe[")}) {
    EXPECT_THAT(ParseAmdSmi(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("amd-smi")));
    EXPECT_THAT(ParseRocmSmi(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rocm-smi")));
  }
}

TEST(AmdSmi, DeepValuesCostNothingOfTheOthers) {
  std::string deep = "[{\"gpu\": 0, \"usage\": {}, \"ecc\": ";
  for (int i = 0; i < 100000; ++i) deep += "{\"value\":";
  deep += "1";
  for (int i = 0; i < 100000; ++i) deep += "}";
  deep += "}, {\"gpu\": 1, \"bdf\": \"0000:03:00.0\"}]";
  const auto state = ParseAmdSmi(deep);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->gpus.size(), 2u);
  EXPECT_EQ(state->gpus[1].pci_address, "0000:03:00.0");
}

TEST(Amd, ANodeWithoutItIsToldApartFromOneOfWhichNothingIsKnown) {
  FakeHost without;
  without.AddFile("/sys/class/drm/card0/device/vendor", "0x1a03\n");
  EXPECT_TRUE(absl::IsNotFound(QueryAmd(without).status()));
  EXPECT_TRUE(absl::IsUnavailable(QueryAmd(FakeHost()).status()));
  FakeHost broken;
  broken.AddCommand("amd-smi static --json", "", 1, "ERROR: driver not loaded");
  EXPECT_THAT(QueryAmd(broken), StatusIs(absl::StatusCode::kAborted, HasSubstr("not loaded")));
}

}  // namespace
}  // namespace galen::node
