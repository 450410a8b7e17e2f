#include "services/cli/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace galen::cli {
namespace report_text_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Diagnosis Parsed(const char* text) {
  v1::Diagnosis diagnosis;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, diagnosis.mutable_report()));
  return diagnosis;
}

constexpr Terminal kPlain = {.interactive = false, .width = 100};

TEST(ReportText, BeginsWithWhatIsWrongAndWhereThenTheLinesThatShowIt) {
  const v1::Diagnosis diagnosis = Parsed(R"pb(
    outcome: CAUSE_CONFIRMED
    headline: "Uncorrectable ECC error: gpu:3 on n1"
    primary_cause {
      label: "GPU.MEMORY.UNCORRECTABLE_ECC"
      title: "Uncorrectable ECC error"
      probability: 0.973
      devices { node: "n1" device: "gpu:3" pci_address: "0000:3b:00.0" }
      evidence_ids: "gpu.ecc@n1"
      evidence_ids: "signal/xid@dmesg.txt"
    }
    secondary_effects { label: "Xid 48" explained_by: "GPU.MEMORY.UNCORRECTABLE_ECC" }
    ruled_out { label: "GPU.MEMORY.SRAM_ECC" explanation: "only DRAM counters moved" }
    evidence { id: "gpu.ecc@n1" kind: "check" text: "2 uncorrectable errors" }
    evidence {
      id: "signal/xid@dmesg.txt"
      kind: "signal"
      text: "Xid 48"
      excerpt: "NVRM: Xid (PCI:0000:3b:00): 48"
      source: "dmesg.txt"
      line: 12
    }
    next_steps: "drain n1"
    checks { pass: 12 fail: 2 skipped: 3 }
  )pb");
  const std::string text = ReportText(diagnosis, /*verbose=*/false, kPlain);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_THAT(lines[0], HasSubstr("Uncorrectable ECC error: gpu:3 on n1"));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("GPU.MEMORY.UNCORRECTABLE_ECC"), HasSubstr("97 %"),
                              HasSubstr("gpu:3 on n1 (0000:3b:00.0)")));
  EXPECT_THAT(lines[3], HasSubstr("dmesg.txt:12  NVRM: Xid (PCI:0000:3b:00): 48"));
  EXPECT_THAT(lines[4], HasSubstr("2 uncorrectable errors"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("1. drain n1"), Not(HasSubstr("SRAM_ECC")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(ReportText(diagnosis, /*verbose=*/true, kPlain),
              AllOf(HasSubstr("GPU.MEMORY.SRAM_ECC: only DRAM counters moved"),
                    HasSubstr("Xid 48; follows from GPU.MEMORY.UNCORRECTABLE_ECC"),
                    HasSubstr("12 passed, 2 failed, 3 skipped")));
}

TEST(ReportText, WithoutACauseNamesTheSuspectsWithTheirLines) {
  const v1::Diagnosis diagnosis = Parsed(R"pb(
    outcome: NO_CAUSE_CONFIRMED
    headline: "No cause is proven"
    suspects { label: "A.B" title: "Too many files" evidence_ids: "signal/x@run.log" }
    evidence { id: "signal/x@run.log" kind: "signal" excerpt: "Errno 24" source: "run.log" line: 7 }
  )pb");
  EXPECT_THAT(ReportText(diagnosis, false, kPlain),
              AllOf(HasSubstr("No cause"), HasSubstr("Too many files (A.B)"),
                    HasSubstr("run.log:7  Errno 24")));
}

TEST(ReportText, TellsThatAPresumedCauseIsNotProven) {
  const v1::Diagnosis diagnosis = Parsed(R"pb(
    outcome: NO_CAUSE_CONFIRMED
    presumed_cause { label: "GPU.MEMORY.SRAM_ECC" probability: 0.41 evidence_ids: "incident/I-1" }
    evidence { id: "incident/I-1" kind: "incident" text: "past incident: it broke" }
  )pb");
  EXPECT_THAT(ReportText(diagnosis, false, kPlain),
              AllOf(HasSubstr("Most likely"), HasSubstr("GPU.MEMORY.SRAM_ECC, not proven (41 %)"),
                    HasSubstr("past incident: it broke"), Not(HasSubstr("confirmed"))));
}

TEST(ReportText, SaysWhatWasReadAndWhatWasOnlySearched) {
  v1::Diagnosis diagnosis = Parsed(R"pb(outcome: NO_CAUSE_CONFIRMED)pb");
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        artefacts { kind: "df" title: "output of df" source: "issue.md" first_line: 3 last_line: 9 }
        artefacts { source: "issue.md" first_line: 12 last_line: 12 unread: true }
      )pb",
      diagnosis.mutable_incident()));
  EXPECT_THAT(ReportText(diagnosis, false, kPlain),
              AllOf(HasSubstr("Read          output of df (issue.md:3-9)"),
                    HasSubstr("Only searched issue.md:12")));
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
