// Claims about tuned settings: clock offsets, and a supply that is too small.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "check_fixture.h"
#include "gmock/gmock.h"
#include "gpu_xml.h"
#include "gtest/gtest.h"
#include "services/node/checks/gpu/clock_offsets.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {
namespace tuning_test {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::vector<std::string>& Query() {
  static const std::vector<std::string> argv = {
      "nvidia-settings", "-q", "GPUGraphicsClockOffset", "-q", "GPUMemoryTransferRateOffset", "-t"};
  return argv;
}

TEST(ClockOffsets, TerseNumbersStandQueryByQuery) {
  EXPECT_THAT(ParseNvidiaSettings(Query(), "260\n1200\n"), UnorderedElementsAre(Pair(0, 1200)));
  EXPECT_THAT(ParseNvidiaSettings(Query(), "0\n-50\n0\n0\n"),
              UnorderedElementsAre(Pair(0, 0), Pair(1, -50)));
  // Not a number for each.
  EXPECT_THAT(ParseNvidiaSettings(Query(), "1\n2\n3\n"), IsEmpty());
  EXPECT_THAT(ParseNvidiaSettings(Query(), "ERROR: Unable to find display\n0\n"), IsEmpty());
  EXPECT_THAT(ParseNvidiaSettings({"nvidia-settings", "-q", "GPUCurrentFanSpeed", "-t"}, "40\n"),
              IsEmpty());
}

TEST(ClockOffsets, LongAnswersNameTheirGpu) {
  EXPECT_THAT(ParseNvidiaSettings(
                  {"nvidia-settings", "-q", "all"},
                  "  Attribute 'GPUGraphicsClockOffsetAllPerformanceLevels' (pc:0[gpu:1]): 260.\n"
                  "  Attribute 'GPUPowerMizerMode' (pc:0[gpu:0]): 1.\n"),
              UnorderedElementsAre(Pair(1, 260)));
}

constexpr char kPs[] = "ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args";
constexpr char kTool[] =
    "  77  1 root S - 170000 4100 0.0 nvidia-oc  /usr/local/bin/nvidia_oc set --index 1 "
    "--freq-offset 150 --max-clock 2610\n";

TEST(GpuClocks, AToolThatMovesTheClocksIsSeen) {
  const std::string fields =
      "<clocks><sm_clock>210 MHz</sm_clock></clocks><max_clocks><sm_clock>3120 MHz</sm_clock>"
      "</max_clocks>";
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x",
                  SmiXml({GpuXml("01:00.0", fields), GpuXml("02:00.0", fields)}));
  host.AddCommand(kPs, kTool);
  const auto output = RunGpuCheck("gpu.clocks", host);
  EXPECT_EQ(ValueOf(output, "clock_offset_mhz", "gpu:1"), "150");
  EXPECT_EQ(ValueOf(output, "user_setting_changed", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(output, "user_setting_changed", "gpu:0"), "unknown");
  EXPECT_THAT(MessageOf(output), HasSubstr("150 MHz"));
}

std::string Margin(const std::string& supply_w, const std::string& cpu) {
  FakeHost host;
  const std::string limit =
      "<gpu_power_readings><current_power_limit>290.00 W</current_power_limit>"
      "<default_power_limit>290.00 W</default_power_limit></gpu_power_readings>";
  host.AddCommand("nvidia-smi -q -x", SmiXml({GpuXml("01:00.0", limit)}));
  host.AddCommand("dmidecode -t 39",
                  absl::StrCat("System Power Supply\n\tMax Power Capacity: ", supply_w, " W\n"));
  host.AddCommand("lscpu", cpu);
  return ValueOf(RunGpuCheck("gpu.power", host), "supply_margin_w", "");
}

TEST(GpuPower, ASupplyHasToCarryProcessorsAndBoardToo) {
  constexpr char kWorkstation[] =
      "Model name:    AMD Ryzen Threadripper PRO 5965WX 24-Cores\nSocket(s):   1\n";
  EXPECT_EQ(Margin("490", kWorkstation), "-130");
  EXPECT_EQ(Margin("1000", kWorkstation), "380");
  EXPECT_EQ(Margin("490", "Model name:   Some CPU\nSocket(s):  1\n"), "115");
  EXPECT_EQ(Margin("490", ""), "unknown");
}

}  // namespace tuning_test
}  // namespace galen::node
