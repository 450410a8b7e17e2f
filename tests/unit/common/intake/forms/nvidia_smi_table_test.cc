#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::nvidia_smi_table_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTable[] = R"(
Tue Feb  4 11:22:33 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 560.35.03              Driver Version: 560.35.03      CUDA Version: 12.6     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A30                     On  |   00000000:21:00.0 Off |                    0 |
| N/A   33C    P0             31W /  165W |   10121MiB /  24576MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A30                     Off |   00000000:22:00.0 Off |                    4 |
| ERR!  35C    P8           N/A /  N/A    |       4MiB /  24576MiB |     N/A   E. Process |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      4242      C   python3 serve.py                            10112MiB |
|    0   N/A  N/A      4243    C+G   ...a3/envs/x/bin/python                         N/A |
+-----------------------------------------------------------------------------------------+
)";

TEST(NvidiaSmiTable, ARowBecomesAGpu) {
  EXPECT_THAT(XmlValues(TextOf("nvidia_smi_table", kTable)),
              IsSupersetOf({
                  Pair("driver_version", "560.35.03"),
                  Pair("cuda_version", "12.6"),
                  Pair("gpu0/product_name", "NVIDIA A30"),
                  Pair("gpu0/persistence_mode", "Enabled"),
                  Pair("gpu0/pci/pci_bus_id", "00000000:21:00.0"),
                  Pair("gpu0/performance_state", "P0"),
                  Pair("gpu0/fb_memory_usage/total", "24576 MiB"),
                  Pair("gpu0/fb_memory_usage/used", "10121 MiB"),
                  Pair("gpu0/utilization/gpu_util", "97 %"),
                  Pair("gpu0/temperature/gpu_temp", "33 C"),
                  Pair("gpu0/gpu_power_readings/power_draw", "31 W"),
                  Pair("gpu0/gpu_power_readings/current_power_limit", "165 W"),
                  Pair("gpu0/compute_mode", "Default"),
                  Pair("gpu0/mig_mode/current_mig", "Disabled"),
                  Pair("gpu1/persistence_mode", "Disabled"),
                  Pair("gpu1/fan_speed", "ERR!"),
                  Pair("gpu1/compute_mode", "Exclusive_Process"),
                  Pair("gpu1/gpu_power_readings/power_draw", "N/A"),
                  Pair("gpu1/utilization/gpu_util", "N/A"),
              }));
}

TEST(NvidiaSmiTable, ATotalOfErrorsTellsItsPartsOnlyIfItIsZero) {
  const auto values = XmlValues(TextOf("nvidia_smi_table", kTable));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_mode/current_ecc", "Enabled")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/volatile/dram_uncorrectable", "0")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_errors/volatile/sram_uncorrectable", "0")));
  EXPECT_THAT(values, Contains(Pair("gpu1/ecc_errors/volatile/double_bit/total", "4")));
  EXPECT_THAT(values, Not(Contains(Key("gpu1/ecc_errors/volatile/dram_uncorrectable"))));
}

TEST(NvidiaSmiTable, ProcessesAreKnownIfTheTableIsComplete) {
  const auto values = XmlValues(TextOf("nvidia_smi_table", kTable));
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/pid", "4242,4243")));
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/type", "C,C+G")));
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/process_name",
                                    "python3 serve.py,...a3/envs/x/bin/python")));
  EXPECT_THAT(values, Contains(Pair("gpu1/processes", "")));
  EXPECT_FALSE(IsPartial("nvidia_smi_table", kTable));

  absl::string_view cut = kTable;
  cut = cut.substr(0, cut.find("|    0   N/A  N/A      4243"));
  const auto of_cut = XmlValues(TextOf("nvidia_smi_table", cut));
  EXPECT_THAT(of_cut, Contains(Pair("gpu0/processes/process_info/pid", "4242")));
  EXPECT_THAT(of_cut, Not(Contains(Key("gpu1/processes"))));
  EXPECT_TRUE(IsPartial("nvidia_smi_table", cut));
}

TEST(NvidiaSmiTable, TablesBeforeDriver450HaveTwoLinesAGpu) {
  constexpr char kOld[] = R"(
    | NVIDIA-SMI 418.87.00    Driver Version: 418.87.00    CUDA Version: 10.1     |
    |-------------------------------+----------------------+----------------------+
    | GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
    | Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
    |===============================+======================+======================|
    |   0  Tesla V100-SXM2...  On   | 00000000:15:00.0 Off |                  Off |
    | N/A   41C    P0    54W / 300W |   1234MiB / 16160MiB |      3%      Default |
    +-------------------------------+----------------------+----------------------+
    +-----------------------------------------------------------------------------+
    | Processes:                                                       GPU Memory |
    |  GPU       PID   Type   Process name                             Usage      |
    |=============================================================================|
    |    0     31337      C   ./a.out                                     1223MiB |
    +-----------------------------------------------------------------------------+
)";
  const auto values = XmlValues(TextOf("nvidia_smi_table", kOld));
  EXPECT_THAT(values, Contains(Pair("gpu0/product_name", "Tesla V100-SXM2...")));
  EXPECT_THAT(values, Contains(Pair("gpu0/ecc_mode/current_ecc", "Disabled")));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/ecc_errors"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/mig_mode"))));
  EXPECT_THAT(values, Contains(Pair("gpu0/temperature/gpu_temp", "41 C")));
  EXPECT_THAT(values, Contains(Pair("gpu0/processes/process_info/pid", "31337")));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/processes/process_info/gpu_instance_id"))));
}

TEST(NvidiaSmiTable, ASelectedGpuKeepsItsNumber) {
  const auto values = XmlValues(TextOf("nvidia_smi_table",
                                       "|   5  NVIDIA L4                      On  |   "
                                       "00000000:65:00.0 Off |                    0 |"));
  EXPECT_THAT(values, Contains(Pair("gpu5/product_name", "NVIDIA L4")));
  EXPECT_THAT(values, Contains(Pair("gpu0", "")));
  EXPECT_THAT(values, Not(Contains(Key("gpu6"))));
  EXPECT_THAT(values, Not(Contains(Key("gpu5/temperature"))));
  // A line of values alone does not name its GPU.
  EXPECT_TRUE(IsRefused("nvidia_smi_table",
                        "| N/A   33C    P0             31W /  165W |   10121MiB /  24576MiB |     "
                        "97%      Default |"));
}

TEST(NvidiaSmiTable, InstancesOfMigAreCounted) {
  constexpr char kMig[] = R"(
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:21:00.0 Off |                   On |
| N/A   33C    P0             31W /  400W |      45MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|==================+==================================+===========+=======================|
|  0    1   0   0  |              37MiB / 19968MiB    | 42      0 |  3   0    2    0    0 |
|                  |               0MiB / 32767MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   0   1  |               8MiB / 19968MiB    | 42      0 |  3   0    2    0    0 |
+------------------+----------------------------------+-----------+-----------------------+
)";
  const auto values = XmlValues(TextOf("nvidia_smi_table", kMig));
  EXPECT_THAT(values, Contains(Pair("gpu0/mig_mode/current_mig", "Enabled")));
  EXPECT_THAT(values, Contains(Pair("gpu0/mig_devices/mig_device/gpu_instance_id", "1,2")));
  EXPECT_THAT(values, Not(Contains(Key("gpu0/ecc_errors"))));
}

TEST(NvidiaSmiTable, TheFirstOfTwoTablesCounts) {
  EXPECT_EQ(TextOf("nvidia_smi_table", absl::StrCat(kTable, kTable)),
            TextOf("nvidia_smi_table", kTable));
}

TEST(NvidiaSmiTable, ARefusalIsKept) {
  EXPECT_EQ(TextOf("nvidia_smi_table",
                   "Unable to determine the device handle for GPU0000:61:00.0: Unknown Error"),
            "Unable to determine the device handle for GPU0000:61:00.0: Unknown Error\n");
}

}  // namespace
}  // namespace galen::intake::nvidia_smi_table_test
