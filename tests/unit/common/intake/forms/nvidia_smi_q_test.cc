#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::nvidia_smi_q_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTwoGpus[] = R"(
==============NVSMI LOG==============

Timestamp                                 : Mon Mar  3 04:05:06 2025
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA A100-SXM4-40GB
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Serial Number                         : 1320000000001
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    GPU Reset Status
        Reset Required                    : No
    PCI
        Bus                               : 0x1B
        Bus Id                            : 00000000:1B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 3
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 17
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Power Cap                      : Not Active
    FB Memory Usage
        Total                             : 40960 MiB
        Used                              : 5 MiB
    ECC Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Uncorrectable            : 3
        Aggregate
            DRAM Uncorrectable            : 4
            SRAM Threshold Exceeded       : Yes
    Remapped Rows
        Correctable Error                 : 5
        Uncorrectable Error               : 6
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            None                          : 7 bank(s)
    Temperature
        GPU Current Temp                  : 63 C
        GPU Slowdown Temp                 : 92 C
        Memory Current Temp               : 71 C
    GPU Power Readings
        Average Power Draw                : 301.50 W
        Instantaneous Power Draw          : 299.00 W
        Current Power Limit               : 400.00 W
    Max Clocks
        SM                                : 1410 MHz
        Memory                            : 1215 MHz
    Fabric
        State                             : Completed
        ClusterUUID                       : 00000000-0000-0000-0000-000000000000
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 101
            Type                          : C
            Name                          : python3 <train>
            Used GPU Memory               : 2 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 102
            Type                          : C
            Name                          : /opt/a&b
            Used GPU Memory               : 1 MiB

GPU 00000000:43:00.0
    Product Name                          : NVIDIA A100-SXM4-40GB
    Clocks Throttle Reasons
        HW Slowdown                       : Not Active
    Retired Pages
        Single Bit ECC                    : 3
        Double Bit ECC                    : 1
        Pending Page Blacklist            : No
    Processes                             : None
)";

TEST(NvidiaSmiQuery, LabelsBecomeTheTagsThatTheXmlHas) {
  EXPECT_THAT(XmlValues(TextOf("nvidia_smi_q", kTwoGpus)),
              IsSupersetOf({
                  Pair("driver_version", "550.54.15"),
                  Pair("cuda_version", "12.4"),
                  Pair("attached_gpus", "2"),
                  Pair("gpu0/product_name", "NVIDIA A100-SXM4-40GB"),
                  Pair("gpu0/persistence_mode", "Enabled"),
                  Pair("gpu0/mig_mode/current_mig", "Disabled"),
                  Pair("gpu0/serial", "1320000000001"),
                  Pair("gpu0/uuid", "GPU-11111111-2222-3333-4444-555555555555"),
                  Pair("gpu0/gpu_reset_status/reset_required", "No"),
                  Pair("gpu0/pci/pci_bus", "1B"),
                  Pair("gpu0/pci/pci_bus_id", "00000000:1B:00.0"),
                  Pair("gpu0/pci/pci_gpu_link_info/pcie_gen/current_link_gen", "3"),
                  Pair("gpu0/pci/pci_gpu_link_info/link_widths/current_link_width", "8x"),
                  Pair("gpu0/pci/replay_counter", "17"),
                  Pair("gpu0/performance_state", "P0"),
                  Pair("gpu0/fb_memory_usage/total", "40960 MiB"),
                  Pair("gpu0/ecc_mode/current_ecc", "Enabled"),
                  Pair("gpu0/ecc_errors/volatile/sram_uncorrectable_parity", "1"),
                  Pair("gpu0/ecc_errors/volatile/sram_uncorrectable_secded", "2"),
                  Pair("gpu0/ecc_errors/volatile/dram_uncorrectable", "3"),
                  Pair("gpu0/ecc_errors/aggregate/dram_uncorrectable", "4"),
                  Pair("gpu0/ecc_errors/aggregate/sram_threshold_exceeded", "Yes"),
                  Pair("gpu0/remapped_rows/remapped_row_corr", "5"),
                  Pair("gpu0/remapped_rows/remapped_row_unc", "6"),
                  Pair("gpu0/remapped_rows/remapped_row_pending", "Yes"),
                  Pair("gpu0/remapped_rows/row_remapper_histogram/row_remapper_histogram_none",
                       "7 bank(s)"),
                  Pair("gpu0/temperature/gpu_temp", "63 C"),
                  Pair("gpu0/temperature/gpu_temp_slow_threshold", "92 C"),
                  Pair("gpu0/temperature/memory_temp", "71 C"),
                  Pair("gpu0/gpu_power_readings/average_power_draw", "301.50 W"),
                  Pair("gpu0/gpu_power_readings/instant_power_draw", "299.00 W"),
                  Pair("gpu0/gpu_power_readings/current_power_limit", "400.00 W"),
                  Pair("gpu0/max_clocks/sm_clock", "1410 MHz"),
                  Pair("gpu0/max_clocks/mem_clock", "1215 MHz"),
                  Pair("gpu0/fabric/state", "Completed"),
                  Pair("gpu0/fabric/clusterUuid", "00000000-0000-0000-0000-000000000000"),
                  Pair("gpu1/retired_pages/multiple_single_bit_retirement/retired_count", "3"),
                  Pair("gpu1/retired_pages/double_bit_retirement/retired_count", "1"),
                  Pair("gpu1/retired_pages/pending_blacklist", "No"),
              }));
}

TEST(NvidiaSmiQuery, ReasonsCarryTheNameOfTheirRelease) {
  const auto values = XmlValues(TextOf("nvidia_smi_q", kTwoGpus));
  EXPECT_THAT(values,
              Contains(Pair("gpu0/clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown",
                            "Active")));
  EXPECT_THAT(values, Contains(Pair("gpu0/clocks_event_reasons/clocks_event_reason_gpu_idle",
                                    "Not Active")));
  EXPECT_THAT(values,
              Contains(Pair("gpu1/clocks_throttle_reasons/clocks_throttle_reason_hw_slowdown",
                            "Not Active")));
}

TEST(NvidiaSmiQuery, EveryProcessIsOneOfItsOwn) {
  const std::string xml = TextOf("nvidia_smi_q", kTwoGpus);
  const auto values = XmlValues(xml);
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/pid", "101,102")));
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/used_memory", "2 MiB,1 MiB")));
  EXPECT_THAT(xml, HasSubstr("<process_name>python3 &lt;train&gt;</process_name>"));
  EXPECT_THAT(xml, HasSubstr("<process_name>/opt/a&amp;b</process_name>"));
  // An empty list is known; a missing section is not.
  EXPECT_THAT(values, Contains(Pair("gpu1/processes", "")));
}

TEST(NvidiaSmiQuery, AFieldThatTheTextLacksIsMissing) {
  const auto values = XmlValues(TextOf("nvidia_smi_q", kTwoGpus));
  EXPECT_THAT(values, Not(Contains(Key("gpu1/temperature/gpu_temp"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu1/ecc_errors"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/vbios_version"))));
}

TEST(NvidiaSmiQuery, CommonIndentationAndQuotedPromptsDoNotMatter) {
  std::string indented;
  for (const absl::string_view line : absl::StrSplit(kTwoGpus, '\n')) {
    absl::StrAppend(&indented, "      ", line, "\r\n");
  }
  EXPECT_EQ(TextOf("nvidia_smi_q", indented), TextOf("nvidia_smi_q", kTwoGpus));
  EXPECT_EQ(TextOf("nvidia_smi_q", absl::StrCat("$ nvidia-smi -q\n", kTwoGpus, "$ exit\n")),
            TextOf("nvidia_smi_q", kTwoGpus));
}

TEST(NvidiaSmiQuery, AGpuThatTheCommandNamesKeepsItsNumber) {
  constexpr char kText[] =
      "Attached GPUs : 4\n"
      "GPU 00000000:8A:00.0\n"
      "    Temperature\n"
      "        GPU Current Temp : 41 C\n";
  const auto values = XmlValues(TextOf("nvidia_smi_q", kText, "nvidia-smi -i 2 -q -d TEMPERATURE"));
  EXPECT_THAT(values, Contains(Pair("gpu2/temperature/gpu_temp", "41 C")));
  EXPECT_THAT(values, Contains(Key("gpu3")));
  EXPECT_THAT(values, Not(Contains(Key("gpu4"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/temperature/gpu_temp"))));
  EXPECT_TRUE(IsPartial("nvidia_smi_q", kText));
  EXPECT_FALSE(IsPartial("nvidia_smi_q", kTwoGpus));
}

TEST(NvidiaSmiQuery, MinorNumbersTellTheOrderOfSomeGpus) {
  const auto values = XmlValues(TextOf("nvidia_smi_q",
                                       "Attached GPUs : 4\n"
                                       "GPU 00000000:8A:00.0\n"
                                       "    Minor Number : 2\n"));
  EXPECT_THAT(values, Contains(Pair("gpu2/minor_number", "2")));
  EXPECT_THAT(values, Contains(Key("gpu3")));
  // If all are listed, their order counts.
  EXPECT_THAT(XmlValues(TextOf("nvidia_smi_q",
                               "Attached GPUs : 1\n"
                               "GPU 00000000:8A:00.0\n"
                               "    Minor Number : 2\n")),
              Contains(Pair("gpu0/minor_number", "2")));
}

TEST(NvidiaSmiQuery, AFieldWithoutItsHeadingIsNotGuessed) {
  constexpr char kText[] =
      "GPU 00000000:1B:00.0\n"
      "        Pending                           : Yes\n"
      "        GPU Current Temp                  : 63 C\n"
      "            DRAM Uncorrectable            : 3\n";
  const auto values = XmlValues(TextOf("nvidia_smi_q", kText));
  EXPECT_THAT(values, Contains(Pair("gpu0/temperature/gpu_temp", "63 C")));
  EXPECT_EQ(values.size(), 3u);  // the GPU, its section and the field
  // Without the GPU's heading, the field cannot be attributed.
  EXPECT_TRUE(IsRefused("nvidia_smi_q", "        GPU Current Temp  : 63 C\n"));
}

TEST(NvidiaSmiQuery, TheFirstOfTwoOutputsCounts) {
  EXPECT_EQ(TextOf("nvidia_smi_q", absl::StrCat(kTwoGpus, kTwoGpus)),
            TextOf("nvidia_smi_q", kTwoGpus));
}

TEST(NvidiaSmiQuery, MigDevicesAreCounted) {
  constexpr char kText[] =
      "GPU 00000000:1B:00.0\n"
      "    MIG Device\n"
      "        Index                : 0\n"
      "        Shared FB Memory Usage\n"
      "            Total            : 9984 MiB\n"
      "        ECC Errors\n"
      "            Volatile\n"
      "                SRAM Uncorrectable : 0\n"
      "    MIG Device\n"
      "        Index                : 1\n";
  const auto values = XmlValues(TextOf("nvidia_smi_q", kText));
  EXPECT_THAT(values, Contains(Pair("gpu0/mig_devices/mig_device/index", "0,1")));
  EXPECT_THAT(values,
              Contains(Pair("gpu0/mig_devices/mig_device/fb_memory_usage/total", "9984 MiB")));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/ecc_errors"))));
}

TEST(NvidiaSmiQuery, ARefusalIsKept) {
  constexpr char kRefusal[] =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
  EXPECT_EQ(TextOf("nvidia_smi_q", absl::StrCat("$ nvidia-smi -q\n", kRefusal, "\n")),
            absl::StrCat(kRefusal, "\n"));
}

TEST(NvidiaSmiQuery, AWarningOfAnInforomStaysBesideTheXml) {
  EXPECT_THAT(TextOf("nvidia_smi_q",
                     "GPU 00000000:1B:00.0\n    Product Name : NVIDIA A100\n"
                     "WARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"),
              HasSubstr("</nvidia_smi_log>\nWARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"));
}

}  // namespace
}  // namespace galen::intake::nvidia_smi_q_test
