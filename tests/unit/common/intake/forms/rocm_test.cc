#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"
#include "nlohmann/json.hpp"

namespace galen::intake::rocm_test {
namespace {

using nlohmann::json;

json Json(absl::string_view text) { return json::parse(TextOf("rocm_smi", text), nullptr, false); }

TEST(RocmSmi, LinesOfACardBecomeItsFields) {
  EXPECT_EQ(Json("======= ROCm System Management Interface =======\n"
                 "Driver version: 6.7.0\n"
                 "GPU[0]\t\t: Temperature (Sensor junction) (C): 48.0\n"
                 "GPU[0]\t\t: sclk clock level: 1: (1700Mhz)\n"
                 "GPU[0]\t\t: pcie clock level: 1 (16.0GT/s, x16 619Mhz)\n"
                 "GPU[0]\t\t: Current Socket Graphics Package Power (W): 143.0\n"
                 "GPU[0]\t\t: Fan Level: 0 (0%)\n"
                 "GPU[3]\t\t: Card series: \t\tAMD Instinct MI210\n"
                 "GPU[3]\t\t: Temperature (Sensor mem) (c): 51.0\n"
                 "GPU[3]\t\t: PCIe Replay Count: 2\n"),
            json::parse(R"json({
              "system": {"Driver version": "6.7.0"},
              "card0": {"Temperature (Sensor junction) (C)": "48.0",
                        "sclk clock speed:": "(1700Mhz)",
                        "pcie clock level": "1 (16.0GT/s x16 619Mhz)",
                        "Current Socket Graphics Package Power (W)": "143.0"},
              "card3": {"Card series": "AMD Instinct MI210",
                        "Temperature (Sensor memory) (C)": "51.0",
                        "PCIe Replay Count": "2"}})json"));
}

TEST(RocmSmi, TheConciseTableOfRocm5IsRead) {
  EXPECT_EQ(
      Json("================================= Concise Info =================================\n"
           "GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK    Fan   Perf  PwrCap  VRAM%  GPU%\n"
           "0    39.0c           41.0W   1700Mhz 1600Mhz 0%    auto  300.0W    9%   71%\n"),
      json::parse(R"json({"card0": {"GPU use (%)": "71",
              "Max Graphics Package Power (W)": "300.0", "sclk clock speed:": "(1700Mhz)",
              "Temperature (Sensor edge) (C)": "39.0",
              "Average Graphics Package Power (W)": "41.0"}})json"));
}

TEST(RocmSmi, TheConciseTableOfRocm6IsRead) {
  EXPECT_EQ(Json("Device  Node  IDs            Temp        Power     Partitions          SCLK   "
                 "MCLK    Fan  Perf  PwrCap  VRAM%  GPU%\n"
                 "              (DID,   GUID)  (Junction)  (Socket)  (Mem, Compute, ID)\n"
                 "===================================================\n"
                 "2       5     0x74a1, 28851  43.0°C      132.0W    NPS1, SPX, 0        N/A    "
                 "900Mhz  0%   auto  750.0W  0%     0%\n"),
            json::parse(R"json({"card2": {"GPU use (%)": "0",
              "Max Graphics Package Power (W)": "750.0",
              "Temperature (Sensor junction) (C)": "43.0",
              "Current Socket Graphics Package Power (W)": "132.0"}})json"));
}

TEST(RocmSmi, LinksBetweenGpusAreRead) {
  const json root = Json(
      "GPU[0] : GPU use (%): 0\n"
      "======== Link Type between two GPUs ========\n"
      "       GPU0         GPU1         GPU2\n"
      "GPU0   0            XGMI         PCIE\n"
      "GPU1   XGMI         0            XGMI\n"
      "GPU2   PCIE         XGMI         0\n"
      "============================================\n");
  EXPECT_EQ(root["system"], json({{"(Topology) Link type between DRM devices 0 and 1", "XGMI"},
                                  {"(Topology) Link type between DRM devices 0 and 2", "PCIE"},
                                  {"(Topology) Link type between DRM devices 1 and 2", "XGMI"}}));
}

TEST(RocmSmi, ATextWithoutAGpuIsRefused) {
  EXPECT_TRUE(IsRefused("rocm_smi",
                        "======= ROCm System Management Interface =======\n"
                        "Driver version: 6.7.0\n"));
  EXPECT_TRUE(IsRefused("rocm_smi", "GPU[0] : unsupported\n"));
}

}  // namespace
}  // namespace galen::intake::rocm_test
