#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::nvidia_smi_csv_test {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(NvidiaSmiCsv, TheHeadingNamesTheColumns) {
  EXPECT_THAT(
      XmlValues(TextOf("nvidia_smi_csv",
                       "index, name, pci.bus_id, driver_version, pcie.link.gen.current, "
                       "pcie.link.width.max, memory.used [MiB], temperature.gpu, power.draw [W], "
                       "power.limit [W], clocks.max.sm [MHz], remapped_rows.pending, "
                       "clocks_throttle_reasons.sw_power_cap, utilization.gpu [%]\n"
                       "1, NVIDIA L4, 00000000:41:00.0, 550.90.07, 1, 16, 7 MiB, 44, 20.11 W, "
                       "72.00 W, 2040 MHz, No, Not Active, 0 %\n")),
      IsSupersetOf({
          Pair("driver_version", "550.90.07"),
          Pair("gpu0", ""),
          Pair("gpu1/product_name", "NVIDIA L4"),
          Pair("gpu1/pci/pci_bus_id", "00000000:41:00.0"),
          Pair("gpu1/pci/pci_gpu_link_info/pcie_gen/current_link_gen", "1"),
          Pair("gpu1/pci/pci_gpu_link_info/link_widths/max_link_width", "16"),
          Pair("gpu1/fb_memory_usage/used", "7 MiB"),
          Pair("gpu1/temperature/gpu_temp", "44"),
          Pair("gpu1/gpu_power_readings/power_draw", "20.11 W"),
          Pair("gpu1/gpu_power_readings/power_limit", "72.00 W"),
          Pair("gpu1/max_clocks/sm_clock", "2040 MHz"),
          Pair("gpu1/remapped_rows/remapped_row_pending", "No"),
          Pair("gpu1/clocks_throttle_reasons/clocks_throttle_reason_sw_power_cap", "Not Active"),
          Pair("gpu1/utilization/gpu_util", "0 %"),
      }));
}

TEST(NvidiaSmiCsv, TheCommandNamesTheColumnsIfTheHeadingIsMissing) {
  const auto values = XmlValues(TextOf(
      "nvidia_smi_csv", "Tesla T4, 40, [N/A]\nTesla T4, 90, [N/A]\n",
      "nvidia-smi --query-gpu=name,temperature.gpu,fan.speed --format=csv,noheader,nounits"));
  EXPECT_THAT(values, Contains(Pair("gpu0/temperature/gpu_temp", "40")));
  EXPECT_THAT(values, Contains(Pair("gpu1/temperature/gpu_temp", "90")));
  EXPECT_THAT(values, Contains(Pair("gpu1/fan_speed", "[N/A]")));
  // If the command is unknown too, the columns are.
  EXPECT_TRUE(IsRefused("nvidia_smi_csv", "Tesla T4, 40, [N/A]\n"));
}

TEST(NvidiaSmiCsv, ErrorsAreCountedWhereTheXmlCountsThem) {
  const auto values = XmlValues(TextOf(
      "nvidia_smi_csv",
      "ecc.errors.uncorrected.volatile.dram, ecc.errors.corrected.aggregate.sram, "
      "ecc.errors.uncorrected.aggregate.sram.parity, ecc.errors.corrected.volatile.device_memory\n"
      "1, 2, 3, 4\n"));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/volatile/dram_uncorrectable", "1")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/aggregate/sram_correctable", "2")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/aggregate/sram_uncorrectable_parity", "3")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/volatile/single_bit/device_memory", "4")));
}

TEST(NvidiaSmiCsv, ATotalOfErrorsTellsItsPartsOnlyIfItIsZero) {
  const auto values = XmlValues(TextOf("nvidia_smi_csv",
                                       "index, ecc.errors.uncorrected.volatile.total, "
                                       "ecc.errors.uncorrected.aggregate.total\n"
                                       "0, 0, 9\n"));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/volatile/dram_uncorrectable", "0")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/aggregate/double_bit/total", "9")));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/ecc_errors/aggregate/dram_uncorrectable"))));
}

TEST(NvidiaSmiCsv, AMaskOfReasonsIsTakenApart) {
  const auto values = XmlValues(TextOf(
      "nvidia_smi_csv", "name, clocks_event_reasons.active\nNVIDIA H100, 0x0000000000000088\n"));
  const std::string prefix = "gpu0/clocks_event_reasons/clocks_event_reason_";
  EXPECT_THAT(values, Contains(Pair(prefix + "hw_power_brake_slowdown", "Active")));
  EXPECT_THAT(values, Contains(Pair(prefix + "hw_slowdown", "Active")));
  EXPECT_THAT(values, Contains(Pair(prefix + "hw_thermal_slowdown", "Not Active")));
}

TEST(NvidiaSmiCsv, LinesThatCannotBeCountedArePartial) {
  constexpr char kCommand[] =
      "nvidia-smi --query-gpu=driver_version --format=csv,noheader | sort -u";
  const auto values = XmlValues(TextOf("nvidia_smi_csv", "535.54.03\n", kCommand));
  EXPECT_THAT(values, Contains(Pair("driver_version", "535.54.03")));
  EXPECT_TRUE(IsPartial("nvidia_smi_csv", "535.54.03\n", kCommand));
  // A count of lines is not a use of memory.
  EXPECT_TRUE(
      IsRefused("nvidia_smi_csv", "      8 4 MiB\n",
                "nvidia-smi --query-gpu=memory.used --format=csv,noheader | sort | uniq -c"));
}

TEST(NvidiaSmiCsv, TheFirstReadingOfAGpuCounts) {
  const auto values =
      XmlValues(TextOf("nvidia_smi_csv", "index, temperature.gpu\n0, 40\n1, 41\n0, 80\n1, 81\n",
                       "nvidia-smi --query-gpu=index,temperature.gpu "
                       "--format=csv -l 1"));
  EXPECT_THAT(values, Contains(Pair("gpu0/temperature/gpu_temp", "40")));
  EXPECT_THAT(values, Contains(Pair("gpu1/temperature/gpu_temp", "41")));
  EXPECT_THAT(values, Not(Contains(Key("gpu2"))));
  EXPECT_TRUE(IsRefused("nvidia_smi_csv", "temperature.gpu\n40\n80\n",
                        "nvidia-smi --query-gpu=temperature.gpu --format=csv -l 1"));
}

TEST(NvidiaSmiCsv, ACutLastLineIsLeftOut) {
  const auto values =
      XmlValues(TextOf("nvidia_smi_csv", "index, name, temperature.gpu\n0, A100, 40\n1, A1"));
  EXPECT_THAT(values, Contains(Pair("gpu0/temperature/gpu_temp", "40")));
  EXPECT_THAT(values, Not(Contains(Key("gpu1"))));
}

TEST(NvidiaSmiCsv, ProseIsNotTakenForARow) {
  const auto values =
      XmlValues(TextOf("nvidia_smi_csv", "535.54.03\nAny idea why?\n2 of them are new\n",
                       "nvidia-smi --query-gpu=driver_version --format=csv,noheader"));
  EXPECT_THAT(values, Contains(Pair("driver_version", "535.54.03")));
  EXPECT_THAT(values, Not(Contains(Key("gpu1"))));
  EXPECT_TRUE(IsRefused("nvidia_smi_csv", "index, name\nwell, I do not know\n"));
}

TEST(NvidiaSmiCsv, ASecondTableIsNotMixedIn) {
  const auto values = XmlValues(TextOf("nvidia_smi_csv",
                                       "index, temperature.gpu\n0, 40\n"
                                       "index, memory.used [MiB]\n0, 17 MiB\n1, 18 MiB\n"));
  EXPECT_THAT(values, Not(Contains(Key("gpu1"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/fb_memory_usage/used"))));
}

}  // namespace
}  // namespace galen::intake::nvidia_smi_csv_test
