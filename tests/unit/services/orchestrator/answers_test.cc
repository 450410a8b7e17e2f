// The effects of an answer on results and verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/orchestrator/changes.h"
#include "services/orchestrator/event_builders.h"
#include "services/orchestrator/request_builders.h"
#include "services/orchestrator/supplied_evidence.h"
#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace answers_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using v1::CheckResult;

constexpr char kOne[] =
    "hypotheses_proposed { hypotheses { hypothesis { label: 'X' title: 'a full disk' } "
    "checks: 'a' } }";

CheckResult Result(const std::string& text) {
  CheckResult result;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &result)) << text;
  return result;
}

CheckResult Full() {
  return Result(
      "id: 'a@n1' check: 'a' node: 'n1' status: FAIL message: 'full' told: 'feedback/1' "
      "findings { name: 'used' subject { device: 'mount:/' } double_value: 100 "
      "abnormal: true }");
}

CheckResult Empty() {
  return Result(
      "id: 'a@n1' check: 'a' node: 'n1' status: PASS message: 'empty' "
      "findings { name: 'used' subject { device: 'mount:/' } double_value: 4 } "
      "findings { name: 'used' subject { device: 'mount:/tmp' } double_value: 5 }");
}

// A round in which `a` passed and X was judged so.
State Judged(const std::string& outcome, const std::string& bundle = "") {
  State state = Summarized();
  state.incident.set_bundle(bundle);
  ApplyNext(state, Event(kOne));
  v1::DiagnosisEvent passed;
  *passed.mutable_check_completed()->mutable_result() = Empty();
  ApplyNext(state, passed);
  ApplyNext(state, Event("checks_finished {}"));
  ApplyNext(state, Event(absl::StrCat("verdicts_given { batch: 'judge/history/1' verdicts { "
                                      "label: 'X' probability: 0.01 outcome: ",
                                      outcome, " } }")));
  ApplyNext(state, Event(absl::StrCat(
                       "concluded { report { outcome: ",
                       outcome == "CONFIRMED" ? "CAUSE_CONFIRMED" : "NO_CAUSE_CONFIRMED", " } }")));
  return state;
}

TEST(Answers, OpenEveryVerdictAndKeepWhatItWas) {
  for (const char* outcome : {"CONFIRMED", "REJECTED", "INCONCLUSIVE"}) {
    State state = Judged(outcome);
    ApplyNext(state, Event("feedback_received { text: 'again' }"));
    EXPECT_EQ(state.lifecycle, v1::Diagnosis::RUNNING) << outcome;
    EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.status(), v1::Hypothesis::PENDING);
    EXPECT_TRUE(FindHypothesis(state, "X")->before.has_value());
    Follow(state, {{"summarized { nodes: 'n1' }", {"checks/again/2 a"}},
                   {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' status: FAIL } }",
                    {"+ checks_finished { batch: \"checks/again/2\" }"}},
                   {"checks_finished {}", {"judge/again/2 X"}}});
  }
}

TEST(Answers, NothingThatPassedBeforeThemIsEvidenceOfALiveMachine) {
  State state = Judged("REJECTED");
  ASSERT_THAT(state.evidence, SizeIs(1));
  ApplyNext(state, Event("feedback_received { text: 'again' }"));
  EXPECT_THAT(state.evidence, IsEmpty());
  EXPECT_THAT(HistoryRequestOf(state)->evidence().results(), IsEmpty());
}

TEST(Answers, WhatWasCapturedStaysEvidence) {
  State state = Judged("REJECTED", "b");
  ApplyNext(state, Event("feedback_received { text: 'again' }"));
  EXPECT_THAT(state.evidence, SizeIs(1));
  Follow(state, {{"summarized { nodes: 'n1' }", {"judge/again/2 X"}}});
}

TEST(Answers, WhatFailedBeforeStaysSeenWhereTheMachineDoesNotAnswer) {
  State state = Summarized();
  v1::DiagnosisEvent failed;
  *failed.mutable_check_completed()->mutable_result() = Full();
  failed.mutable_check_completed()->mutable_result()->clear_told();
  ApplyNext(state, failed);
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  ApplyNext(state, Event("feedback_received { text: 'again' }"));
  ApplyNext(state, Event("summarized { nodes: 'n1' }"));
  ApplyNext(state, Event("check_completed { result { id: 'a@n1' check: 'a' node: 'n1' "
                         "status: ERROR } }"));
  EXPECT_EQ(state.evidence.at("a@n1")->status(), CheckResult::FAIL);
  EXPECT_THAT(state.evidence.at("a@n1")->message(), HasSubstr("seen before"));
}

TEST(Answers, WhatCameWithThemIsReadFirstThenTheMachines) {
  State state = Judged("REJECTED");
  ApplyNext(state, Event("feedback_received { text: 't' evidence { description: 'words' bundle: "
                         "'/e/1' artefacts { title: 'output of df' } } }"));
  EXPECT_EQ(state.feedback.back(), "words");
  EXPECT_EQ(SummarizeRequestOf(state).supplied(0).source(), "feedback/1");
  Follow(state, {{"summarized { nodes: 'n1' }", {"told/2"}},
                 {"checks_finished { batch: 'told/2' }", {"checks/again/2 a"}}});
  ApplyNext(state, Event("summarized { nodes: 'n1' }"));
  const auto request = SuppliedRequestOf(state);
  EXPECT_EQ(request.bundle(), "/e/1");
  EXPECT_TRUE(request.everything());
  EXPECT_FALSE(request.allow_intrusive());
}

TEST(Answers, AnAnswerThatCannotBeReadCostsItsOutputsAndNothingElse) {
  State state = Judged("REJECTED");
  ApplyNext(state, Event("feedback_received { evidence { bundle: '/gone' } }"));
  ApplyNext(state, Event("summarized { nodes: 'n1' }"));
  Follow(state, {{"call_failed { call: 'told/2' attempt: 1 final: true error { message: 'gone' } }",
                  {"+ checks_finished { batch: \"told/2\" }"}},
                 {"checks_finished { batch: 'told/2' }", {"checks/again/2 a"}}});
}

// In a diagnosis of a bundle, evidence given later is newer.
TEST(Answers, TheNewerOneCountsAndTheContradictionIsTold) {
  State state = Judged("REJECTED", "b");
  ApplyNext(state, Event("feedback_received { evidence { bundle: '/e/1' } }"));
  v1::DiagnosisEvent told;
  *told.mutable_check_completed()->mutable_result() = Full();
  ApplyNext(state, told);
  const CheckResult& result = *state.evidence.at("a@n1");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(result.told(), "feedback/1");
  EXPECT_EQ(result.findings(0).double_value(), 100);
  EXPECT_EQ(result.findings(1).double_value(), 5) << "of the mount that was not given";
  bool contradiction = false;
  for (const v1::Change& change : ChangesOf(state)) {
    contradiction = contradiction || change.kind() == v1::Change::CONTRADICTION;
  }
  EXPECT_TRUE(contradiction);
}

TEST(Answers, AgainstALaterLookAtTheMachineTheyProveNothing) {
  const MergedResult merged = MergeSupplied(Empty(), Full(), /*machine_is_newer=*/true);
  EXPECT_THAT(merged.contradictions, SizeIs(1));
  EXPECT_EQ(merged.result.findings(0).value_case(), v1::Finding::VALUE_NOT_SET);
  EXPECT_EQ(merged.result.findings(1).double_value(), 5);
}

TEST(Answers, WhatIsNormalNowDoesNotUndoWhatWasSeen) {
  CheckResult machine = Full();
  machine.clear_told();
  CheckResult told = Empty();
  told.set_told("feedback/1");
  for (const bool newer : {true, false}) {
    const MergedResult merged = MergeSupplied(machine, told, newer);
    EXPECT_EQ(merged.result.findings(0).double_value(), 100) << newer;
    EXPECT_EQ(merged.result.status(), CheckResult::FAIL) << newer;
    EXPECT_THAT(merged.contradictions, SizeIs(1)) << newer;
  }
}

TEST(Answers, EventsOfBothWereThere) {
  const CheckResult machine = Result(
      "check: 'k' status: FAIL findings { name: 'xid' event_value { code: '48' text: 'x' } "
      "abnormal: true }");
  const CheckResult told = Result(
      "check: 'k' status: FAIL findings { name: 'xid' event_value { code: '74' text: 'y' } "
      "abnormal: true }");
  const MergedResult merged = MergeSupplied(machine, told, true);
  EXPECT_EQ(merged.result.findings_size(), 2);
  EXPECT_THAT(merged.contradictions, IsEmpty());
}

TEST(Answers, WhatSaysNothingChangesNothing) {
  CheckResult told = Full();
  told.set_status(CheckResult::SKIPPED);
  EXPECT_EQ(MergeSupplied(Empty(), told, false).result.message(), "empty");
  CheckResult machine = Empty();
  machine.set_status(CheckResult::ERROR);
  EXPECT_EQ(MergeSupplied(machine, Full(), true).result.message(), "full");
}

// Captured and given evidence are read together: most of it repeats what was known.
TEST(Answers, OverACaptureOnlyWhatIsNewIsTold) {
  State state = Judged("INCONCLUSIVE", "b");
  ApplyNext(state, Event("feedback_received { evidence { bundle: '/e/1' } }"));
  EXPECT_FALSE(SuppliedResultEvent(state, Empty()).has_value());
  EXPECT_TRUE(SuppliedResultEvent(state, Full()).has_value());
  CheckResult other = Empty();
  other.set_check("z");
  EXPECT_FALSE(SuppliedResultEvent(state, other).has_value())
      << "nobody had looked, and it is fine";
  other.set_status(CheckResult::FAIL);
  EXPECT_TRUE(SuppliedResultEvent(state, other).has_value());
  other.set_node("reported-machine");
  other.set_status(CheckResult::PASS);
  EXPECT_TRUE(SuppliedResultEvent(state, other).has_value()) << "of a machine that is new";
  other.set_status(CheckResult::SKIPPED);
  EXPECT_FALSE(SuppliedResultEvent(state, other).has_value());
}

TEST(Answers, TheirChangesNameTheCauseFirst) {
  State state = Judged("REJECTED", "b");
  ApplyNext(state, Event("feedback_received { evidence { bundle: '/e/1' } }"));
  ApplyNext(state, Event("summarized { nodes: 'n1' }"));
  v1::DiagnosisEvent told;
  *told.mutable_check_completed()->mutable_result() = Full();
  ApplyNext(state, told);
  ApplyNext(state, Event("verdicts_given { batch: 'judge/again/2' verdicts { label: 'X' "
                         "probability: 0.97 outcome: CONFIRMED } }"));
  const std::vector<v1::Change> changes = ChangesOf(state);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].text(), "a full disk is confirmed (97 %); it was ruled out");
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.origin(), v1::Hypothesis::EXPLORATION);
}

TEST(Answers, OneThatChangesNothingIsToldSo) {
  State state = Judged("INCONCLUSIVE", "b");
  ApplyNext(state, Event("feedback_received { text: 'thanks' }"));
  ApplyNext(state, Event("verdicts_given { batch: 'judge/again/2' verdicts { label: 'X' "
                         "probability: 0.01 outcome: INCONCLUSIVE } }"));
  ASSERT_THAT(ChangesOf(state), SizeIs(1));
  EXPECT_EQ(ChangesOf(state)[0].kind(), v1::Change::NOTHING);
}

TEST(Answers, QuestionsStandInTheDialogueWithTheirAnswer) {
  State state = Summarized();
  ApplyNext(state, Event("explored { questions { id: 'a@n1' text: 'how full?' commands: 'df' "
                         "node: 'n1' } }"));
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  ApplyNext(state, Event("feedback_received { text: 'very' by: 'ada' }"));
  ASSERT_THAT(state.dialogue, SizeIs(1));
  EXPECT_EQ(state.dialogue[0].questions(0).text(), "how full?");
  EXPECT_EQ(state.dialogue[0].by(), "ada");
  EXPECT_THAT(ExploreRequestOf(state)->asked(), ElementsAre("a@n1", "df@n1"));
}

TEST(Answers, TheWindowOfLiveMachinesGoesOnToTheLastOne) {
  State state = Judged("INCONCLUSIVE");
  state.incident.mutable_end_time()->set_seconds(5);
  ApplyNext(state, Event("feedback_received { text: 'again' }"));
  Effect effect;
  EXPECT_EQ(RunChecksRequestOf(state, effect).end_time().seconds(),
            state.dialogue.back().time().seconds());
  EXPECT_EQ(RunChecksRequestOf(state, effect).look(), 2);
}

}  // namespace answers_test
}  // namespace galen::orchestrator
