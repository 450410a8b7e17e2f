#include "services/node/checks/gpu/gpu_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_xml.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

Gpu OneGpu(const std::string& fields) {
  const auto state = ParseGpuState(SmiXml({GpuXml("1B", fields)}));
  EXPECT_TRUE(state.ok()) << state.status();
  return state.ok() && state->gpus.size() == 1 ? state->gpus.front() : Gpu();
}

TEST(GpuState, NumbersGpusInTheOrderOfTheDocument) {
  const auto state = ParseGpuState(SmiXml({GpuXml("1B", ""), GpuXml("B3", "")}));
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_THAT(state->gpus, SizeIs(2));
  EXPECT_EQ(DeviceName(state->gpus[1]), "gpu:1");
  EXPECT_EQ(state->gpus[1].pci_address, "0000:b3:00.0");
  EXPECT_EQ(state->driver_version, "550.54.14");
}

TEST(GpuState, ReadsEccOfAllThreeLayouts) {
  const Gpu split = OneGpu(
      "<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
      "<sram_uncorrectable_secded>2</sram_uncorrectable_secded>"
      "<dram_uncorrectable>5</dram_uncorrectable></volatile></ecc_errors>");
  EXPECT_THAT(split.ecc.since_boot.sram_uncorrectable, Optional(3));
  EXPECT_THAT(split.ecc.since_boot.dram_uncorrectable, Optional(5));

  const Gpu plain = OneGpu(
      "<ecc_errors><aggregate><sram_uncorrectable>4</sram_uncorrectable>"
      "</aggregate></ecc_errors>");
  EXPECT_THAT(plain.ecc.lifetime.sram_uncorrectable, Optional(4));

  const Gpu volta = OneGpu(
      "<ecc_errors><volatile><double_bit><device_memory>7</device_memory>"
      "<register_file>1</register_file><l2_cache>2</l2_cache><cbu>N/A</cbu>"
      "<total>10</total></double_bit></volatile></ecc_errors>");
  EXPECT_THAT(volta.ecc.since_boot.dram_uncorrectable, Optional(7));
  EXPECT_THAT(volta.ecc.since_boot.sram_uncorrectable, Optional(3));
}

TEST(GpuState, ValuesThatAreNoneAreUnknownAndNeverZero) {
  for (const char* nothing :
       {"N/A", "[N/A]", "[Not Supported]", "Unknown Error", "[Unknown Error]", "GPU requires reset",
        "ERR!", "", " ", "Requested functionality has been deprecated"}) {
    const Gpu gpu = OneGpu(absl::StrCat("<ecc_errors><volatile><dram_uncorrectable>", nothing,
                                        "</dram_uncorrectable></volatile></ecc_errors>"));
    EXPECT_EQ(gpu.ecc.since_boot.dram_uncorrectable, std::nullopt) << nothing;
  }
  EXPECT_EQ(OneGpu("").ecc.since_boot.dram_uncorrectable, std::nullopt);
}

TEST(GpuState, TakesTheMarginFromEitherKindOfLimit) {
  const Gpu by_temperature = OneGpu(
      "<temperature><gpu_temp>70 C</gpu_temp>"
      "<gpu_temp_slow_threshold>89 C</gpu_temp_slow_threshold></temperature>");
  EXPECT_THAT(by_temperature.thermal.margin_to_slowdown, Optional(19.0));
  const Gpu by_distance = OneGpu(
      "<temperature><gpu_temp>70 C</gpu_temp><gpu_temp_tlimit>15 C</gpu_temp_tlimit>"
      "<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature>");
  EXPECT_THAT(by_distance.thermal.margin_to_slowdown, Optional(17.0));
}

TEST(GpuState, ReadsThrottleReasonsUnderBothNames) {
  EXPECT_THAT(OneGpu("<clocks_throttle_reasons><clocks_throttle_reason_hw_slowdown>Active"
                     "</clocks_throttle_reason_hw_slowdown></clocks_throttle_reasons>")
                  .throttle.hw_slowdown,
              Optional(true));
  EXPECT_THAT(OneGpu("<clocks_event_reasons><clocks_event_reason_hw_slowdown>Not Active"
                     "</clocks_event_reason_hw_slowdown></clocks_event_reasons>")
                  .throttle.hw_slowdown,
              Optional(false));
}

TEST(GpuState, KeepsWhatStandsAroundTheXml) {
  const auto state = ParseGpuState(absl::StrCat(
      SmiXml({GpuXml("1B", "")}), "WARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->remarks, "WARNING: infoROM is corrupted at gpu 0000:1B:00.0");
}

TEST(GpuState, OutputThatIsTruncatedOffIsRefusedAtEveryByte) {
  const std::string whole = SmiXml({GpuXml("1B", "<serial>1</serial>")});
  const std::size_t end = whole.find("</nvidia_smi_log>") + 17;
  for (std::size_t size = 0; size < end; ++size) {
    EXPECT_THAT(ParseGpuState(whole.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("nvidia-smi -q -x")))
        << size;
  }
  EXPECT_TRUE(ParseGpuState(whole.substr(0, end)).ok());
}

TEST(GpuState, HostileXmlIsRefusedOrReadButNeverFatal) {
  EXPECT_FALSE(ParseGpuState("<nvidia_smi_log><gpu></nvidia_smi_log>").ok());
  std::string deep = "<nvidia_smi_log><gpu>";
  for (int i = 0; i < 200000; ++i) deep += "<a>";
  EXPECT_FALSE(ParseGpuState(deep + "</nvidia_smi_log>").ok());
  std::string closed = deep;
  for (int i = 0; i < 200000; ++i) closed += "</a>";
  EXPECT_TRUE(ParseGpuState(closed + "</gpu></nvidia_smi_log>").ok());
  // Entities are not expanded.
  const auto state = ParseGpuState(
      "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><nvidia_smi_log><gpu><uuid>&a;&a;</uuid></gpu>"
      "</nvidia_smi_log>");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->gpus.front().uuid, "&a;&a;");
  std::string many = "<nvidia_smi_log>";
  for (int i = 0; i < 2000; ++i) many += "<gpu/>";
  EXPECT_THAT(ParseGpuState(many + "</nvidia_smi_log>"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than")));
}

TEST(GpuState, NumbersThatAreNoneAreUnknown) {
  EXPECT_THAT(LeadingNumber("26.78 W"), Optional(26.78));
  EXPECT_THAT(LeadingNumber("-8 C"), Optional(-8.0));
  EXPECT_EQ(LeadingNumber("nan"), std::nullopt);
  EXPECT_THAT(LeadingNumber("1e999"), Optional(1.0));
  EXPECT_EQ(LeadingNumber("-"), std::nullopt);
  EXPECT_THAT(LeadingInteger("16x"), Optional(16));
  EXPECT_EQ(LeadingInteger("99999999999999999999"), std::nullopt);
  EXPECT_EQ(LeadingInteger("x16"), std::nullopt);
}

TEST(CanonicalPciAddress, MakesOneFormOfAll) {
  EXPECT_EQ(CanonicalPciAddress("00000000:4B:00.0"), "0000:4b:00.0");
  EXPECT_EQ(CanonicalPciAddress("4b:00.0"), "0000:4b:00.0");
  EXPECT_EQ(CanonicalPciAddress("0000:4B:00"), "0000:4b:00.0");
  EXPECT_EQ(CanonicalPciAddress("00010008:01:00.0"), "10008:01:00.0");
  EXPECT_EQ(CanonicalPciAddress("gpu"), "");
  EXPECT_EQ(CanonicalPciAddress("0000:zz:00.0"), "");
  EXPECT_EQ(CanonicalPciAddress(""), "");
}

}  // namespace
}  // namespace galen::node
