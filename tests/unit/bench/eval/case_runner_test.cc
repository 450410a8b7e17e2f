#include "bench/eval/runner/case_runner.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr char kKnowledge[] = R"(
labels:
  - label: GPU
    title: GPU
    description: A card.
    children:
      - label: GPU.FAN_STUCK
        title: Fan stuck
        description: A fan does not turn.
        confirm:
          - {check: gpu.fan, finding: speed, op: ==, value: 0, defining: true, observation: the fan stands still}
        owner: provider
        severity: high
        prior: medium
        mitigation: Replace the fan.
      - label: GPU.DUST
        title: Dust
        description: The filter is full of dust.
        confirm:
          - {check: gpu.dust, finding: full, op: ==, value: true, defining: true, observation: the filter is full}
        owner: provider
        severity: low
        prior: medium
        mitigation: Clean the filter.
checks:
  - name: gpu.fan
    title: Fan
    kind: extract
    cost: 2s
    file: /run/fan
    findings:
      - {name: speed, type: int, subject: node, pattern: '([0-9]+)', abnormal: {op: ==, value: 0}}
  - name: gpu.dust
    title: Filter
    kind: extract
    cost: 1s
    file: /run/dust
    findings:
      - {name: full, type: bool, subject: node, pattern: 'full', abnormal: {op: ==, value: true}}
incidents:
  - id: past-fan
    title: Card overheats during training
    description: The card overheats during training, throttles its clock and slows every other rank down until the job ends.
    label: GPU.FAN_STUCK
    verification: ['fan at 0 rpm']
    resolution: Fan replaced.
    reference: https://example.org/threads/1
)";

class CaseRunnerTest : public testing::Test {
 protected:
  CaseRunnerTest()
      : directory_(fs::path(testing::TempDir()) /
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    std::ofstream(directory_ / "all.yaml") << kKnowledge;
    auto runner = CaseRunner::Create({directory_.string()});
    EXPECT_TRUE(runner.ok()) << runner.status();
    if (runner.ok()) runner_ = *std::move(runner);
  }
  ~CaseRunnerTest() override { fs::remove_all(directory_); }

  // A case without a bundle, on a node whose fan turns at `speed`.
  static v1::Case ACase(const std::string& id, const std::string& description, int speed) {
    v1::Case a_case;
    a_case.set_id(id);
    a_case.set_description(description);
    a_case.add_labels("GPU.FAN_STUCK");
    v1::DeclaredNode& node = *a_case.add_nodes();
    node.set_name("n1");
    galen::v1::CheckResult& result = *node.add_results();
    result.set_check("gpu.fan");
    galen::v1::Finding& finding = *result.add_findings();
    finding.set_name("speed");
    finding.set_int_value(speed);
    return a_case;
  }

  const fs::path directory_;
  std::unique_ptr<const CaseRunner> runner_;
};

constexpr char kPastTicket[] =
    "The card overheats during training, throttles its clock and slows every other rank down until "
    "the job ends.";
constexpr char kSimilarTicket[] =
    "Training slows: one card throttles, overheats, and every rank waits for it. The clock of that "
    "card is low when the job ends.";

TEST_F(CaseRunnerTest, TheHistoryOfACaseNeverHoldsItself) {
  // This strategy only repeats the causes of similar incidents. It knows the cause of an unrelated
  // incident.
  const v1::CaseResult stranger =
      runner_->Run(ACase("new", kSimilarTicket, 900), "history", Mode::kPlain);
  EXPECT_EQ(stranger.error(), "");
  EXPECT_EQ(stranger.primary().label(), "GPU.FAN_STUCK");
  EXPECT_TRUE(stranger.primary().presumed());
  EXPECT_THAT(stranger.left_out(), IsEmpty());

  // It knows nothing of the incident itself, found by its id, its thread, or its text.
  v1::Case same_thread = ACase("new", kSimilarTicket, 900);
  same_thread.set_source("http://example.org/threads/1#comment-3");
  for (const v1::Case& a_case :
       {ACase("past-fan", kSimilarTicket, 900), same_thread, ACase("new", kPastTicket, 900)}) {
    const v1::CaseResult itself = runner_->Run(a_case, "history", Mode::kPlain);
    EXPECT_EQ(itself.error(), "");
    EXPECT_FALSE(itself.has_primary());
    EXPECT_THAT(itself.left_out(), ElementsAre(HasSubstr("past-fan")));
  }
}

TEST_F(CaseRunnerTest, AnUnseenCauseHasNoPrecedent) {
  const v1::CaseResult unseen =
      runner_->Run(ACase("new", kSimilarTicket, 900), "history", Mode::kUnseen);
  EXPECT_FALSE(unseen.has_primary());
}

TEST_F(CaseRunnerTest, WhatDecidesConfirmsUnlessItIsWithheld) {
  const v1::Case a_case = ACase("new", "Training is slow on one node since Monday", 0);
  const v1::CaseResult plain = runner_->Run(a_case, "tiered", Mode::kPlain);
  EXPECT_EQ(plain.primary().label(), "GPU.FAN_STUCK");
  EXPECT_FALSE(plain.primary().presumed());
  EXPECT_THAT(plain.primary().places(), ElementsAre("n1"));
  ASSERT_FALSE(plain.judged().empty());
  EXPECT_TRUE(plain.judged(0).entailed());
  EXPECT_GT(plain.reasoner().calls().at("Judge"), 0);

  const v1::CaseResult withheld = runner_->Run(a_case, "tiered", Mode::kWithheld);
  EXPECT_EQ(withheld.error(), "");
  EXPECT_FALSE(withheld.has_primary());
}

TEST_F(CaseRunnerTest, ACauseOutsideTheTaxonomyCannotBeNamed) {
  const v1::CaseResult outside =
      runner_->Run(ACase("new", kSimilarTicket, 0), "tiered", Mode::kOutside);
  EXPECT_EQ(outside.error(), "");
  EXPECT_FALSE(outside.has_primary());
  for (const v1::JudgedHypothesis& judged : outside.judged()) {
    EXPECT_NE(judged.label(), "GPU.FAN_STUCK");
  }
}

TEST_F(CaseRunnerTest, AMeasuredCaseTellsWhatWasAskedAndSeen) {
  const v1::CaseResult measured =
      runner_->Run(ACase("new", kSimilarTicket, 0), "exhaustive", Mode::kMeasured);
  ASSERT_EQ(measured.observed_size(), 2) << "nobody could tell whether the filter is full";
  EXPECT_EQ(measured.observed(0).name(), "gpu.fan speed == 0");
  EXPECT_TRUE(measured.observed(0).seen());
  EXPECT_EQ(measured.observed(1).name(), "gpu.fan speed == 0 on some");
  EXPECT_FALSE(measured.observed(1).seen()) << "nothing else was read that differs";
}

TEST_F(CaseRunnerTest, WhatMostOtherIncidentsShowConvictsNobody) {
  v1::Case a_case = ACase("new", "Training is slow on one node since Monday", 0);
  knowledge::v1::BaseRate& rate = *a_case.add_base_rates();
  rate.set_of("gpu.fan speed == 0");
  rate.set_seen(80);
  rate.set_asked(100);
  const v1::CaseResult result = runner_->Run(a_case, "tiered", Mode::kPlain);
  EXPECT_EQ(result.error(), "");
  EXPECT_FALSE(result.has_primary() && !result.primary().presumed());
  EXPECT_NE(runner_->KeyOf(a_case), runner_->KeyOf(ACase("new", a_case.description(), 0)));
}

TEST_F(CaseRunnerTest, APostedReportIsReadAsDiagnoseReadsIt) {
  std::ofstream(directory_ / "report.md") << "the job on n1 hangs\n\n```\n$ free -m\nx\n```\n";
  v1::Case a_case;
  a_case.set_id("posted");
  a_case.add_texts((directory_ / "report.md").string());
  const v1::CaseResult result = runner_->Run(a_case, "tiered", Mode::kPlain);
  EXPECT_EQ(result.error(), "");
  EXPECT_EQ(result.artefacts(), 1);
}

TEST_F(CaseRunnerTest, TheMachineThatItRunsOnIsNeverExamined) {
  v1::Case a_case = ACase("new", "Training is slow since Monday", 0);
  a_case.clear_nodes();
  const v1::CaseResult result = runner_->Run(a_case, "exhaustive", Mode::kPlain);
  EXPECT_EQ(result.error(), "");
  EXPECT_THAT(result.checks(), IsEmpty());
}

TEST_F(CaseRunnerTest, ABundleThatIsNotThereFailsThatCase) {
  v1::Case a_case = ACase("new", kSimilarTicket, 0);
  a_case.set_bundle((directory_ / "none").string());
  EXPECT_THAT(runner_->Run(a_case, "tiered", Mode::kPlain).error(), HasSubstr("none"));
}

TEST_F(CaseRunnerTest, TheKeyChangesWithTheAnswerAndTheKnowledge) {
  const v1::Case a_case = ACase("new", kSimilarTicket, 0);
  v1::Case other = a_case;
  other.add_labels_acceptable("GPU.DUST");
  EXPECT_EQ(runner_->KeyOf(a_case), runner_->KeyOf(a_case));
  EXPECT_NE(runner_->KeyOf(a_case), runner_->KeyOf(other));
  EXPECT_THAT(runner_->KeyOf(a_case), HasSubstr(runner_->knowledge().digest()));
}

}  // namespace
}  // namespace galen::eval
