#include "services/cli/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <google/protobuf/text_format.h>

namespace galen::cli {
namespace report_text_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Report Parsed(const char* text) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report));
  return report;
}

TEST(ReportText, ShowsCausePlaceEvidenceEffectsAndWhatWasRuledOut) {
  const v1::Report report = Parsed(R"pb(
    outcome: CAUSE_CONFIRMED
    headline: "uncorrectable ECC error on gpu:3 of n1"
    primary_cause {
      label: "GPU.MEMORY.UNCORRECTABLE_ECC"
      title: "Uncorrectable ECC error"
      probability: 0.973
      devices { node: "n1" device: "gpu:3" pci_address: "0000:3b:00.0" }
      evidence_ids: "gpu.ecc@n1"
    }
    secondary_effects { label: "Xid 48" explained_by: "GPU.MEMORY.UNCORRECTABLE_ECC" }
    ruled_out { label: "GPU.MEMORY.SRAM_ECC" explanation: "only DRAM counters moved" }
    evidence { id: "gpu.ecc@n1" text: "2 uncorrectable errors" }
    next_steps: "drain n1"
    checks { pass: 12 fail: 2 skipped: 3 }
  )pb");
  EXPECT_THAT(
      ReportText(report, {.interactive = false, .width = 100}),
      AllOf(HasSubstr("GPU.MEMORY.UNCORRECTABLE_ECC (97 %)"),
            HasSubstr("gpu:3 on n1 (0000:3b:00.0)"),
            HasSubstr("[gpu.ecc@n1] 2 uncorrectable errors"),
            HasSubstr("Xid 48; follows from GPU.MEMORY.UNCORRECTABLE_ECC"),
            HasSubstr("GPU.MEMORY.SRAM_ECC: only DRAM counters moved"), HasSubstr("1. drain n1"),
            HasSubstr("12 passed, 2 failed, 3 skipped"), Not(HasSubstr("\x1b"))));
}

TEST(ReportText, WithoutACauseNamesNone) {
  const v1::Report report =
      Parsed(R"pb(outcome: NO_CAUSE_CONFIRMED headline: "no cause confirmed")pb");
  EXPECT_THAT(ReportText(report, {.interactive = false, .width = 80}),
              AllOf(HasSubstr("no cause confirmed"), Not(HasSubstr("Cause"))));
}

TEST(ReportText, TellsThatAPresumedCauseIsNotVerified) {
  const v1::Report report = Parsed(R"pb(
    outcome: NO_CAUSE_CONFIRMED
    presumed_cause { label: "GPU.MEMORY.SRAM_ECC" probability: 0.41 evidence_ids: "incident/I-1" }
    evidence { id: "incident/I-1" kind: "incident" text: "past incident: it broke" }
  )pb");
  EXPECT_THAT(
      ReportText(report, {.interactive = false, .width = 80}),
      AllOf(HasSubstr("Presumed    GPU.MEMORY.SRAM_ECC (41 %)"), HasSubstr("No check verified it"),
            HasSubstr("[incident/I-1] past incident: it broke"), Not(HasSubstr("Cause"))));
}

TEST(DeviceText, NamesTheNodeAloneForTheNodeAsAWhole) {
  v1::Device device;
  device.set_node("n1");
  EXPECT_EQ(DeviceText(device), "n1");
  device.set_device("gpu:1");
  EXPECT_EQ(DeviceText(device), "gpu:1 on n1");
}

}  // namespace report_text_test
}  // namespace galen::cli
