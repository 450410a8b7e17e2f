#include "services/cli/progress.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace galen::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::DiagnosisEvent Parsed(const char* text) {
  v1::DiagnosisEvent event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &event));
  return event;
}

class ProgressTest : public ::testing::Test {
 protected:
  std::string Tell(const char* text) { return absl::StrJoin(progress_.Tell(Parsed(text)), "\n"); }
  Progress progress_{{.interactive = false, .width = 120}};
};

TEST_F(ProgressTest, NamesTheFailedChecksOfABatchOnce) {
  EXPECT_THAT(
      Tell(R"pb(check_completed { result { check: "gpu.ecc" node: "n1" status: FAIL } })pb"),
      IsEmpty());
  Tell(R"pb(check_completed { result { check: "gpu.ecc" node: "n2" status: PASS } })pb");
  Tell(R"pb(check_completed { result { check: "gpu.power" node: "n1" status: PASS } })pb");
  Tell(R"pb(check_completed { result { check: "gpu.xgmi" node: "n1" status: SKIPPED } })pb");
  EXPECT_EQ(Tell(R"pb(checks_finished { batch: "b" })pb"), "    ✗ failed: gpu.ecc");
  EXPECT_THAT(Tell(R"pb(checks_finished { batch: "empty" })pb"), IsEmpty());
}

TEST_F(ProgressTest, ShowsAVerdictWithTheReasonThatCarriesIt) {
  EXPECT_THAT(Tell(R"pb(verdicts_given {
                          verdicts {
                            label: "GPU.MEMORY.SRAM_ECC"
                            outcome: CONFIRMED
                            reasons { direction: OPPOSES text: "no" evidence_ids: "x" }
                            reasons { direction: SUPPORTS text: "a counter grew" evidence_ids: "y" }
                          }
                        })pb"),
              AllOf(HasSubstr("✓ GPU.MEMORY.SRAM_ECC"), HasSubstr("a counter grew")));
}

TEST_F(ProgressTest, ACauseThatStaysConfirmedIsNoNewsAndOneThatDoesNotIs) {
  const char* const confirmed =
      R"pb(verdicts_given { verdicts { label: "GPU.MEMORY.SRAM_ECC" outcome: CONFIRMED } })pb";
  EXPECT_THAT(Tell(confirmed), HasSubstr("✓ GPU.MEMORY.SRAM_ECC"));
  EXPECT_EQ(Tell(confirmed), "");
  EXPECT_THAT(Tell(R"pb(verdicts_given {
                          verdicts { label: "GPU.MEMORY.SRAM_ECC" outcome: INCONCLUSIVE }
                        })pb"),
              HasSubstr("✗ GPU.MEMORY.SRAM_ECC"));
}

TEST_F(ProgressTest, TheSearchIsSeenInTheStatusOnly) {
  EXPECT_EQ(Tell(R"pb(verdicts_given { verdicts { label: "GPU.A" outcome: REJECTED } })pb"), "");
  EXPECT_EQ(Tell(R"pb(children_ranked {
                        label: "GPU"
                        children { label: "GPU.A" }
                      })pb"),
            "");
  EXPECT_THAT(progress_.Status(), HasSubstr("GPU"));
}

TEST_F(ProgressTest, SaysWhereHypothesesComeFrom) {
  EXPECT_THAT(
      Tell("hypotheses_proposed { origin: HISTORY hypotheses { hypothesis { label: 'X' } } }"),
      AllOf(HasSubstr("History"), HasSubstr("X")));
  EXPECT_THAT(
      Tell("hypotheses_proposed { origin: DIRECT hypotheses { hypothesis { label: 'X' } } }"),
      AllOf(HasSubstr("not verified"), HasSubstr("X")));
  EXPECT_THAT(
      Tell("hypotheses_proposed { origin: TAXONOMY hypotheses { hypothesis { label: 'X' } } "
           "hypotheses { hypothesis { label: 'Y' } } }"),
      HasSubstr("2 causes, all to be judged"));
}

TEST_F(ProgressTest, SaysThatACallIsTriedAgain) {
  EXPECT_THAT(Tell(R"pb(call_failed {
                          call: "rank/GPU/1"
                          attempt: 1
                          error { message: "refused" }
                        })pb"),
              AllOf(HasSubstr("rank/GPU/1"), HasSubstr("refused"), HasSubstr("trying again")));
}

}  // namespace
}  // namespace galen::cli
