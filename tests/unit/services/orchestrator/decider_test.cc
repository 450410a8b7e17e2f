#include "services/orchestrator/decider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/retry.h"
#include "services/orchestrator/screening.h"
#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNoHistory[] = "hypotheses_proposed {}";

constexpr char kScreenedOut[] = "screened {}";

// History proposes nothing, and no check is worth a look before the taxonomy is walked.
State WithoutHistory() {
  State state = Summarized();
  ApplyNext(state, Event(kNoHistory));
  ApplyNext(state, Event(kScreenedOut));
  return state;
}

TEST(Decider, SummarizesFirst) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'tiered' }"));
  EXPECT_THAT(Wants(state), ElementsAre("summarize/1"));
}

TEST(Decider, RunsWhatTelemetryAnswersAtOnceBeforeAnythingIsProposed) {
  for (const char* const strategy : {"tiered", "taxonomy"}) {
    State state;
    ApplyNext(state, Event(absl::StrCat("created { name: 'tenants/t/diagnoses/d' strategy: '",
                                        strategy, "' }")));
    ApplyNext(state,
              Event("summarized { summary {} nodes: 'n1' nodes: 'n2' opening_checks: 't' }"));
    EXPECT_THAT(Wants(state), ElementsAre("checks/opening/1 t")) << strategy;
    ApplyNext(state, Event("check_completed { result { id: 't@n1' check: 't' node: 'n1' } }"));
    EXPECT_THAT(Wants(state), ElementsAre("checks/opening/1 t")) << strategy;
    ApplyNext(state, Event("check_completed { result { id: 't@n2' check: 't' node: 'n2' } }"));
    EXPECT_THAT(Wants(state), ElementsAre("+ checks_finished { batch: \"checks/opening/1\" }"));
    ApplyNext(state, Event("checks_finished { batch: 'checks/opening/1' }"));
    EXPECT_THAT(Wants(state), ::testing::Not(ElementsAre("checks/opening/1 t"))) << strategy;
  }
}

TEST(Decider, ABatchThatIsOpenIsNotTakenForWhatTelemetryWasAsked) {
  Follow(
      Summarized(),
      {{R"(hypotheses_proposed { hypotheses { hypothesis { label: 'X' } checks: 'a' checks: 'b' } })",
        {"checks/history/1 a,b"}},
       {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }",
        {"checks/history/1 b"}}});
}

TEST(Decider, TestsBothCausesOfHistoryInOneBatchThenConcludesWhenOneIsConfirmed) {
  Follow(Summarized(), {{R"(hypotheses_proposed {
                hypotheses { hypothesis { label: 'X' } checks: 'a' checks: 'b' }
                hypotheses { hypothesis { label: 'Y' } checks: 'b' checks: 'c' } })",
                         {"checks/history/1 a,b,c"}},
                        {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }",
                         {"checks/history/1 b,c"}},
                        {"check_completed { result { id: 'b@n1' check: 'b' node: 'n1' } }",
                         {"checks/history/1 c"}},
                        {"check_completed { result { id: 'c@n1' check: 'c' node: 'n1' } }",
                         {"+ checks_finished { batch: \"checks/history/1\" }"}},
                        {"checks_finished { batch: 'checks/history/1' }", {"judge/history/1 X,Y"}},
                        {R"(verdicts_given { batch: 'judge/history/1'
                verdicts { label: 'X' outcome: CONFIRMED }
                verdicts { label: 'Y' outcome: REJECTED } })",
                         {"critique/1"}},
                        {"critiqued {}", {"conclude/1"}},
                        {"concluded { report { outcome: CAUSE_CONFIRMED } }", {}}});
}

TEST(Decider, ScreensStepByStepWhenHistoryConfirmsNothing) {
  Follow(
      Summarized(),
      {{kNoHistory, {"screen/1/1"}},
       {"screened { checks: 'a' checks: 'b' }", {"checks/screen-1/1 a,b"}},
       {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }", {"checks/screen-1/1 b"}},
       {"check_completed { result { id: 'b@n1' check: 'b' node: 'n1' } }",
        {"+ checks_finished { batch: \"checks/screen-1/1\" }"}},
       {"checks_finished { batch: 'checks/screen-1/1' }", {"screen/2/1"}},
       {"screened { hypotheses { hypothesis { label: 'A.X' } checks: 'a' checks: 'c' } }",
        {"checks/screen-2/1 c"}},
       {"check_completed { result { id: 'c@n1' check: 'c' node: 'n1' } }",
        {"+ checks_finished { batch: \"checks/screen-2/1\" }"}},
       {"checks_finished { batch: 'checks/screen-2/1' }", {"judge/screen-2/1 A.X"}},
       {"verdicts_given { batch: 'judge/screen-2/1' "
        "verdicts { label: 'A.X' outcome: CONFIRMED } }",
        {"screen/3/1"}},
       // Planning wants no more, and a cause is confirmed: the taxonomy need not be walked.
       {kScreenedOut, {"critique/1"}}});
}

TEST(Decider, WalksTheTaxonomyWhenTheScreeningConfirmsNothing) {
  State state = Summarized();
  ApplyNext(state, Event(kNoHistory));
  ApplyNext(state, Event("screened { hypotheses { hypothesis { label: 'A.X' } } }"));
  Follow(state,
         {{"verdicts_given { batch: 'judge/screen-1/1' "
           "verdicts { label: 'A.X' outcome: INCONCLUSIVE } }",
           {"screen/2/1"}},
          {kScreenedOut, {"rank/root/1"}},
          // Nothing runs any more: the existing results are judged.
          {"children_ranked { label: '' children { label: 'A' checks: 'ga' } }", {"rank/A/1"}},
          {"children_ranked { label: 'A' children { label: 'A.Y' leaf: true checks: 'y' } }",
           {"judge/A/1 A.Y"}}});
}

TEST(Decider, AfterFeedbackTheWalkRunsChecksOnNodesThatCameSince) {
  State state = WithoutHistory();
  state.incident.set_bundle("b");
  ApplyNext(state, Passed("y"));
  ApplyNext(state, Event("checks_finished {}"));
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  Follow(state, {{"feedback_received { text: 'n2 has joined' }", {"summarize/2"}},
                 {"summarized { nodes: 'n1' nodes: 'n2' }", {"history/2"}},
                 {kNoHistory, {"screen/1/2"}},
                 {kScreenedOut, {"rank/root/2"}},
                 {"children_ranked { label: '' children { label: 'A.Y' leaf: true checks: 'y' } }",
                  {"checks/root/2 y"}}});
}

TEST(Decider, AScreeningThatNeverHasEnoughIsEnded) {
  State state = Summarized();
  ApplyNext(state, Event(kNoHistory));
  int steps = 0;
  while (Wants(state) == std::vector<std::string>{absl::StrCat("screen/", steps + 1, "/1")}) {
    ASSERT_LT(steps, kMaxScreens);
    ++steps;
    // Its check has run, and its causes are judged: nothing is left to do, yet it asks again.
    ApplyNext(state, Passed("a"));
    ApplyNext(state, Event("checks_finished {}"));
    ApplyNext(state, Event("screened { checks: 'a' }"));
  }
  EXPECT_EQ(steps, kMaxScreens);
  EXPECT_THAT(Wants(state), ElementsAre("rank/root/1"));
}

TEST(Decider, SearchesTheTaxonomyDepthFirst) {
  Follow(
      Summarized("taxonomy"),
      {{R"(children_ranked { label: ''
                children { label: 'A' checks: 'ga' }
                children { label: 'B' }
                children { label: 'C' pruned: true } })",
        {"checks/below-A/1 ga"}},
       {"check_completed { result { id: 'ga@n1' check: 'ga' node: 'n1' } }",
        {"+ checks_finished { batch: \"checks/below-A/1\" }"}},
       {"checks_finished { batch: 'checks/below-A/1' }", {"rank/A/1"}},
       {R"(children_ranked { label: 'A'
                children { label: 'A.X' leaf: true checks: 'x' checks: 'ga' }
                children { label: 'A.Y' leaf: true checks: 'x' }
                children { label: 'A.Z' leaf: true pruned: true checks: 'z' } })",
        {"checks/A/1 x"}},
       {"check_completed { result { id: 'x@n1' check: 'x' node: 'n1' } }",
        {"+ checks_finished { batch: \"checks/A/1\" }"}},
       {"checks_finished { batch: 'checks/A/1' }", {"judge/A/1 A.X,A.Y"}},
       {R"(verdicts_given { batch: 'judge/A/1' verdicts { label: 'A.X' outcome: CONFIRMED }
                verdicts { label: 'A.Y' outcome: REJECTED } })",
        {"+ branch_left { label: \"A\" reason: \"searched\" }"}},
       // A confirmed cause does not end the search, there may be others; but the rest is ranked
       // again in its light.
       {"branch_left { label: 'A' }", {"rank/root+1/1"}},
       {"children_ranked { label: '' children { label: 'B' } children { label: 'A' pruned: true } "
        "children { label: 'C' pruned: true } }",
        {"rank/B/1"}},
       {"children_ranked { label: 'B' children { label: 'B.X' leaf: true pruned: true } }",
        {"+ branch_left { label: \"B\" early_stop: true "
         "reason: \"none of its children is relevant\" }"}},
       {"branch_left { label: 'B' early_stop: true }", {"+ branch_left { reason: \"searched\" }"}},
       {"branch_left { label: '' }", {"conclude/1"}}});
}

TEST(Decider, KeepsItsRankingWhenItCannotBeMadeAnew) {
  State state = Summarized("taxonomy");
  ApplyNext(state, Event("children_ranked { label: '' children { label: 'A' } "
                         "children { label: 'B' } }"));
  ApplyNext(state, Event("children_ranked { label: 'A' children { label: 'A.X' leaf: true } }"));
  ApplyNext(state, Event("verdicts_given { batch: 'judge/A/1' "
                         "verdicts { label: 'A.X' outcome: CONFIRMED } }"));
  ApplyNext(state, Event("branch_left { label: 'A' }"));
  ASSERT_THAT(Wants(state), ElementsAre("rank/root+1/1"));
  ApplyNext(state, Event("call_failed { call: 'rank/root+1/1' attempt: 5 final: true }"));
  EXPECT_THAT(Wants(state), ElementsAre("rank/B/1"));
}

TEST(Decider, ExploresOnlyWhenNothingIsConfirmed) {
  State state = WithoutHistory();
  ApplyNext(state, Event("branch_left { label: '' early_stop: true }"));
  Follow(state, {{"critiqued {}", {"explore/1"}},
                 {"explored {}", {"conclude/1"}},
                 {"concluded { report { outcome: NO_CAUSE_CONFIRMED } }", {}}});
}

TEST(Decider, ChecksAndJudgesWhatTheCritiqueAddsOnce) {
  State state = WithoutHistory();
  ApplyNext(state, Event("branch_left { label: '' early_stop: true }"));
  Follow(
      state,
      {{"critiqued { add { hypothesis { label: 'X' } checks: 'a' } }", {"checks/critique/1 a"}},
       {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }",
        {"+ checks_finished { batch: \"checks/critique/1\" }"}},
       {"checks_finished {}", {"judge/critique/1 X"}},
       {"verdicts_given { batch: 'judge/critique/1' verdicts { label: 'X' outcome: CONFIRMED } }",
        {"conclude/1"}}});
}

TEST(Decider, JudgesAConfirmedCauseOnceMoreWhenResultsCameLater) {
  State state = WithoutHistory();
  ApplyNext(state, Event("branch_left { label: '' early_stop: true }"));
  ApplyNext(state, Event(R"(critiqued { add { hypothesis { label: 'X' } }
                                        add { hypothesis { label: 'Y' } checks: 'a' } })"));
  ApplyNext(
      state,
      Event("verdicts_given { batch: 'judge/-/1' verdicts { label: 'X' outcome: CONFIRMED } }"));
  ApplyNext(state, Passed("a"));
  ApplyNext(state, Event("checks_finished {}"));
  const std::string rejected =
      "verdicts_given { batch: 'judge/critique/1' verdicts { label: 'Y' outcome: REJECTED } }";
  Follow(state, {{rejected, {"judge/confirmed/1 X"}},
                 {"verdicts_given { batch: 'judge/confirmed/1' "
                  "verdicts { label: 'X' outcome: CONFIRMED } }",
                  {"conclude/1"}}});
  Follow(state, {{rejected, {"judge/confirmed/1 X"}},
                 {"verdicts_given { batch: 'judge/confirmed/1' "
                  "verdicts { label: 'X' outcome: INCONCLUSIVE } }",
                  {"explore/1"}}});
}

TEST(Decider, WhatCannotBeJudgedAgainStaysConfirmed) {
  State state = WithoutHistory();
  ApplyNext(state, Event("branch_left { label: '' early_stop: true }"));
  ApplyNext(state, Event("critiqued { add { hypothesis { label: 'X' } } }"));
  ApplyNext(state, Event("verdicts_given { batch: 'judge/critique/1' verdicts { label: 'X' "
                         "outcome: CONFIRMED } }"));
  ApplyNext(state, Passed("a"));
  ASSERT_THAT(Wants(state), ElementsAre("judge/confirmed/1 X"));
  ApplyNext(state, Event("call_failed { call: 'judge/confirmed/1' attempt: 5 final: true }"));
  EXPECT_THAT(Wants(state), ElementsAre("conclude/1"));
}

TEST(Decider, DoesNotJudgeADecidedLeafAgainButAnInconclusiveOne) {
  State state = Summarized();
  ApplyNext(state, Event(R"(hypotheses_proposed { hypotheses { hypothesis { label: 'A.X' } }
                                                  hypotheses { hypothesis { label: 'A.Y' } } })"));
  ApplyNext(state, Event(R"(verdicts_given { batch: 'judge/history/1'
                              verdicts { label: 'A.X' outcome: REJECTED }
                              verdicts { label: 'A.Y' outcome: INCONCLUSIVE } })"));
  ApplyNext(state, Event(kScreenedOut));
  ApplyNext(state, Event(R"(children_ranked { children { label: 'A.X' leaf: true }
                                              children { label: 'A.Y' leaf: true } })"));
  EXPECT_THAT(Wants(state), ElementsAre("judge/root/1 A.Y"));
}

TEST(Decider, RunsNoCheckThatHasItsResult) {
  State state = Summarized();
  ApplyNext(state, Passed("a"));
  ApplyNext(state, Event("checks_finished {}"));
  ApplyNext(state,
            Event("hypotheses_proposed { hypotheses { hypothesis { label: 'X' } checks: 'a' } }"));
  EXPECT_THAT(Wants(state), ElementsAre("judge/history/1 X"));
}

TEST(Decider, JudgesWithoutChecksWhenNoNodeIsKnown) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'tiered' }"));
  ApplyNext(state, Event("summarized {}"));
  ApplyNext(state,
            Event("hypotheses_proposed { hypotheses { hypothesis { label: 'X' } checks: 'a' } }"));
  EXPECT_THAT(Wants(state), ElementsAre("judge/history/1 X"));
  EXPECT_THAT(state.round.notes, ElementsAre(HasSubstr("no node is known")));
}

TEST(Decider, RetriesAfterABackoffThatGrowsWithTheAttempts) {
  State state = Summarized();
  for (int attempt = 1; attempt < RetryLimits().unreachable; ++attempt) {
    ApplyNext(state,
              Event(absl::StrCat("call_failed { call: 'history/1' attempt: ", attempt, "}")));
    const Decision decision = Decide(state);
    ASSERT_EQ(decision.effects.size(), 1u);
    EXPECT_EQ(decision.effects[0].id, "history/1");
    EXPECT_EQ(decision.effects[0].not_before, absl::FromUnixSeconds(1'000 + state.last_sequence) +
                                                  BackoffAfter(state.name, attempt));
  }
}

// A diagnosis after a call failed for good.
struct FinalFailure {
  const char* name;
  std::vector<std::string> before;
  std::string call;
  std::vector<std::string> wants;
};

class DeciderOnFinalFailure : public ::testing::TestWithParam<FinalFailure> {};

TEST_P(DeciderOnFinalFailure, GoesOnAsFarAsItCan) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'tiered' }"));
  for (const std::string& event : GetParam().before) ApplyNext(state, Event(event));
  ApplyNext(state,
            Event(absl::StrCat("call_failed { call: '", GetParam().call,
                               "' attempt: 5 final: true error { code: 14 message: 'gone' } }")));
  EXPECT_EQ(Wants(state), GetParam().wants);
  EXPECT_THAT(state.round.notes,
              ElementsAre(HasSubstr(absl::StrCat(GetParam().call, " failed after 5 attempts"))));
}

const char kNodes[] = "summarized { nodes: 'n1' nodes: 'n2' }";
const char kOne[] = "hypotheses_proposed { hypotheses { hypothesis { label: 'X' } checks: 'a' } }";

INSTANTIATE_TEST_SUITE_P(
    EveryCall, DeciderOnFinalFailure,
    ::testing::Values(
        FinalFailure{
            "Summarize", {}, "summarize/1", {"+ failed { error { code: 14 message: \"gone\" } }"}},
        FinalFailure{"History", {kNodes}, "history/1", {"screen/1/1"}},
        FinalFailure{"Screen", {kNodes, kNoHistory}, "screen/1/1", {"rank/root/1"}},
        FinalFailure{
            "Checks",
            {kNodes, kOne, "check_completed { result { id: 'a@n2' check: 'a' node: 'n2' } }"},
            "checks/history/1",
            {"+ check_completed { result { id: \"a@n1\" check: \"a\" node: \"n1\" status: ERROR "
             "message: \"the check could not be run: gone\" } }",
             "+ checks_finished { batch: \"checks/history/1\" }"}},
        FinalFailure{
            "Judge",
            {"summarized { nodes: 'n1' }", kOne,
             "check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }",
             "checks_finished {}"},
            "judge/history/1",
            {"+ verdicts_given { verdicts { label: \"X\" outcome: INCONCLUSIVE reasons { text: "
             "\"reflection gave no verdict: gone\" } } batch: \"judge/history/1\" }"}},
        FinalFailure{"Rank",
                     {kNodes, kNoHistory, kScreenedOut},
                     "rank/root/1",
                     {"+ branch_left { early_stop: true reason: \"planning gave no ranking\" }"}},
        FinalFailure{"Critique",
                     {kNodes, kNoHistory, kScreenedOut, "branch_left {}"},
                     "critique/1",
                     {"explore/1"}},
        FinalFailure{"Explore",
                     {kNodes, kNoHistory, kScreenedOut, "branch_left {}", "critiqued {}"},
                     "explore/1",
                     {"conclude/1"}},
        FinalFailure{
            "Conclude",
            {kNodes, kNoHistory, kScreenedOut, "branch_left {}", "critiqued {}", "explored {}"},
            "conclude/1",
            {"+ failed { error { code: 14 message: \"gone\" } }"}}),
    [](const auto& test) { return test.param.name; });

TEST(Decider, FeedbackStartsAnotherRoundWithWhatIsKnown) {
  State state = Summarized();
  ApplyNext(state, Event(kOne));
  ApplyNext(state, Passed("a"));
  ApplyNext(state, Event("checks_finished {}"));
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  EXPECT_THAT(Wants(state), IsEmpty());
  Follow(state, {{"feedback_received { text: 'it is rank 3' }", {"summarize/2"}},
                 {"summarized { nodes: 'n1' }", {"checks/again/2 a"}},
                 {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' status: PASS } }",
                  {"+ checks_finished { batch: \"checks/again/2\" }"}},
                 {"checks_finished { batch: 'checks/again/2' }", {"history/2"}},
                 {kOne, {"judge/history/2 X"}}});
}

TEST(Decider, EscalatesAfterTheLastRound) {
  State state = Summarized();
  for (int round = 1; round < kMaxRounds; ++round) {
    ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
    ASSERT_TRUE(IsInactive(state));
    ApplyNext(state, Event("feedback_received { text: 'more' }"));
  }
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  EXPECT_FALSE(IsInactive(state));
  EXPECT_THAT(Wants(state),
              ElementsAre("+ escalated { reason: \"no cause confirmed in 5 rounds\" }"));
  ApplyNext(state, Event("escalated {}"));
  EXPECT_TRUE(IsOver(state));
}

TEST(Decider, AnEscalatedDiagnosisConcludesOnceWhateverIsOpen) {
  Follow(Summarized(), {{kOne, {"checks/history/1 a"}},
                        {"escalated {}", {"conclude/1"}},
                        {"concluded { report { outcome: NO_CAUSE_CONFIRMED } }", {}}});
}

TEST(Decider, EscalatingAReportThatIsThereAsksForNoOther) {
  State state = Summarized();
  ApplyNext(state, Event("concluded { report { outcome: NO_CAUSE_CONFIRMED } }"));
  ApplyNext(state, Event("escalated {}"));
  EXPECT_TRUE(IsOver(state));
  EXPECT_THAT(Wants(state), IsEmpty());
}

TEST(Decider, WantsNothingOnceOver) {
  for (const char* end : {"cancelled {}", "failed { error { code: 13 } }",
                          "concluded { report { outcome: CAUSE_CONFIRMED } }"}) {
    State state = Summarized();
    ApplyNext(state, Event(end));
    EXPECT_TRUE(IsOver(state)) << end;
    EXPECT_THAT(Wants(state), IsEmpty()) << end;
  }
}

TEST(Decider, DoesNotFollowATaxonomyThatLoops) {
  State state = WithoutHistory();
  ApplyNext(state, Event("children_ranked { label: '' children { label: 'A' } }"));
  ApplyNext(state, Event("children_ranked { label: 'A' children { label: 'B' } }"));
  ApplyNext(state, Event("children_ranked { label: 'B' children { label: 'A' } }"));
  EXPECT_THAT(Wants(state), ElementsAre("+ branch_left { label: \"B\" reason: \"searched\" }"));
}

TEST(Decider, StopsBelowATaxonomyWithoutEnd) {
  State state = WithoutHistory();
  std::string label;
  for (int depth = 0; depth < 100; ++depth) {
    const std::string child = absl::StrCat(label, "A");
    ApplyNext(state, Event(absl::StrCat("children_ranked { label: '", label,
                                        "' children { label: '", child, "' } }")));
    label = child;
    const std::vector<std::string> wants = Wants(state);
    ASSERT_EQ(wants.size(), 1u);
    if (wants[0] != absl::StrCat("rank/", label, "/1")) {
      EXPECT_THAT(wants[0], HasSubstr("too deep"));
      EXPECT_LT(depth, 20);
      return;
    }
  }
  FAIL() << "the search went on";
}

TEST(Decider, FailsADiagnosisWhoseStrategyIsNotKnown) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'newer' }"));
  ApplyNext(state, Event("summarized {}"));
  EXPECT_THAT(Wants(state), ElementsAre(HasSubstr("is not known here, only direct, exhaustive, ")));
}

}  // namespace
}  // namespace galen::orchestrator
