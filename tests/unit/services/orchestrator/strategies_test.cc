// The requests of each strategy, step by step; those of `tiered` are in decider_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/orchestrator/request_builders.h"
#include "services/orchestrator/strategy.h"
#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace strategies_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTwoOfHistory[] = R"(hypotheses_proposed { origin: HISTORY
    hypotheses { hypothesis { label: 'X' } checks: 'a' }
    hypotheses { hypothesis { label: 'Y' } checks: 'b' } })";
constexpr char kNamedAtOnce[] = R"(hypotheses_proposed { origin: DIRECT
    hypotheses { hypothesis { label: 'X' prior: 0.6 } checks: 'a' }
    hypotheses { hypothesis { label: 'Y' prior: 0.2 } checks: 'b' } })";
constexpr char kNothingConfirmed[] = "concluded { report { outcome: NO_CAUSE_CONFIRMED } }";

std::vector<std::string> Labels(const google::protobuf::RepeatedPtrField<v1::Hypothesis>& all) {
  std::vector<std::string> labels;
  for (const v1::Hypothesis& each : all) labels.push_back(each.label());
  return labels;
}

TEST(Strategies, AreFoundByTheirNames) {
  EXPECT_THAT(StrategyNames(),
              ElementsAre("direct", "exhaustive", "history", "selfplay", "taxonomy", "tiered"));
  for (const std::string& name : StrategyNames()) EXPECT_EQ(FindStrategy(name)->name(), name);
  EXPECT_EQ(FindStrategy("other"), nullptr);
}

TEST(TaxonomyStrategy, SearchesDepthFirstAndAsksForNeitherHistoryNorCritiqueNorIdeas) {
  Follow(Summarized("taxonomy"),
         {{"checks_finished {}", {"rank/root/1"}},
          {R"(children_ranked { label: '' children { label: 'A' checks: 'g' }
                children { label: 'B' pruned: true } })",
           {"checks/below-A/1 g"}},
          {"check_completed { result { id: 'g@n1' check: 'g' node: 'n1' } }",
           {"+ checks_finished { batch: \"checks/below-A/1\" }"}},
          {"checks_finished {}", {"rank/A/1"}},
          {"children_ranked { label: 'A' children { label: 'A.X' leaf: true checks: 'g' } }",
           {"judge/A/1 A.X"}},
          {"verdicts_given { batch: 'judge/A/1' verdicts { label: 'A.X' outcome: REJECTED } }",
           {"+ branch_left { label: \"A\" reason: \"searched\" }"}},
          {"branch_left { label: 'A' }", {"+ branch_left { reason: \"searched\" }"}},
          {"branch_left { label: '' }", {"conclude/1"}},
          {kNothingConfirmed, {}}});
}

TEST(HistoryStrategy, ConcludesFromTheMostLikelyCauseOfThePastAndRunsNoCheck) {
  Follow(Summarized("history"), {{"checks_finished {}", {"history/1"}},
                                 {kTwoOfHistory, {"conclude/1"}},
                                 {kNothingConfirmed, {}}});
}

TEST(DirectStrategy, AsksOnceAndRunsNoCheck) {
  Follow(Summarized("direct"), {{"checks_finished {}", {"at-once/1"}},
                                {kNamedAtOnce, {"conclude/1"}},
                                {kNothingConfirmed, {}}});
}

TEST(ExhaustiveStrategy, RunsEveryCheckInOneBatchAndJudgesEveryCauseInOneCall) {
  Follow(Summarized("exhaustive"),
         {{"checks_finished {}", {"list-causes/1"}},
          {R"(hypotheses_proposed { origin: TAXONOMY
             hypotheses { hypothesis { label: 'X' } checks: 'a' checks: 'b' }
             hypotheses { hypothesis { label: 'Y' } checks: 'b' }
             hypotheses { hypothesis { label: 'Z' } checks: 'c' } })",
           {"checks/all/1 a,b,c"}},
          {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }", {"checks/all/1 b,c"}},
          {"check_completed { result { id: 'b@n1' check: 'b' node: 'n1' } }", {"checks/all/1 c"}},
          {"check_completed { result { id: 'c@n1' check: 'c' node: 'n1' } }",
           {"+ checks_finished { batch: \"checks/all/1\" }"}},
          {"checks_finished {}", {"judge/all/1 X,Y,Z"}},
          {R"(verdicts_given { batch: 'judge/all/1' verdicts { label: 'X' outcome: CONFIRMED }
             verdicts { label: 'Y' outcome: REJECTED } verdicts { label: 'Z' outcome: REJECTED } })",
           {"conclude/1"}},
          {"concluded { report { outcome: CAUSE_CONFIRMED } }", {}}});
}

TEST(SelfplayStrategy, RetrievesThenCriticisesThenChecksAndAttributesBothInOneCall) {
  Follow(Summarized("selfplay"),
         {{"checks_finished {}", {"history/1"}},
          {kTwoOfHistory, {"critique/1"}},
          {R"(critiqued { add { hypothesis { label: 'Y' } checks: 'b' }
                          add { hypothesis { label: 'Z' } checks: 'a' checks: 'c' } })",
           {"checks/attribution/1 a,b,c"}},
          {"check_completed { result { id: 'a@n1' check: 'a' node: 'n1' } }",
           {"checks/attribution/1 b,c"}},
          {"check_completed { result { id: 'b@n1' check: 'b' node: 'n1' } }",
           {"checks/attribution/1 c"}},
          {"check_completed { result { id: 'c@n1' check: 'c' node: 'n1' } }",
           {"+ checks_finished { batch: \"checks/attribution/1\" }"}},
          {"checks_finished {}", {"judge/attribution/1 X,Y,Z"}},
          {R"(verdicts_given { batch: 'judge/attribution/1' verdicts { label: 'X' }
                verdicts { label: 'Y' } verdicts { label: 'Z' outcome: CONFIRMED } })",
           {"conclude/1"}}});
}

TEST(SelfplayStrategy, ShowsItsFirstAnswerToTheCritique) {
  State state = Summarized("selfplay");
  ApplyNext(state, Event(kTwoOfHistory));
  EXPECT_THAT(Labels(CritiqueRequestOf(state)->judged()), ElementsAre("X", "Y"));
}

// A search after a call failed for good.
struct FinalFailure {
  const char* strategy;
  std::vector<std::string> before;
  std::string call;
  std::vector<std::string> wants;
};

class StrategyOnFinalFailure : public ::testing::TestWithParam<FinalFailure> {};

TEST_P(StrategyOnFinalFailure, GoesOnAsFarAsItCan) {
  State state = Summarized(GetParam().strategy);
  for (const std::string& event : GetParam().before) ApplyNext(state, Event(event));
  ApplyNext(state, Event(absl::StrCat("call_failed { call: '", GetParam().call,
                                      "' attempt: 5 final: true error { message: 'gone' } }")));
  EXPECT_EQ(Wants(state), GetParam().wants);
}

INSTANTIATE_TEST_SUITE_P(
    EveryStrategy, StrategyOnFinalFailure,
    ::testing::Values(
        FinalFailure{"taxonomy",
                     {},
                     "rank/root/1",
                     {"+ branch_left { early_stop: true reason: \"planning gave no ranking\" }"}},
        FinalFailure{"history", {}, "history/1", {"conclude/1"}},
        FinalFailure{"direct", {}, "at-once/1", {"conclude/1"}},
        FinalFailure{"exhaustive", {}, "list-causes/1", {"conclude/1"}},
        FinalFailure{"selfplay", {kTwoOfHistory}, "critique/1", {"checks/attribution/1 a,b"}}),
    [](const auto& test) { return test.param.strategy; });

// The strategies that name an unverified cause, and that cause.
struct Presumption {
  const char* strategy;
  const char* event;
  std::string presumed;
};

class PresumptionOf : public ::testing::TestWithParam<Presumption> {};

TEST_P(PresumptionOf, IsTheFirstAnswerOfASearchThatVerifiesNothing) {
  State state = Summarized(GetParam().strategy);
  ApplyNext(state, Event(GetParam().event));
  EXPECT_EQ(ConcludeRequestOf(state)->presumed(), GetParam().presumed);
}

INSTANTIATE_TEST_SUITE_P(
    EveryStrategy, PresumptionOf,
    ::testing::Values(
        Presumption{"history", kTwoOfHistory, "X"}, Presumption{"direct", kNamedAtOnce, "X"},
        Presumption{"tiered", kTwoOfHistory, ""}, Presumption{"selfplay", kTwoOfHistory, ""},
        Presumption{"taxonomy", "children_ranked { children { label: 'X' leaf: true } }", ""},
        Presumption{"exhaustive",
                    "hypotheses_proposed { origin: TAXONOMY hypotheses { hypothesis "
                    "{ label: 'X' } } }",
                    ""}),
    [](const auto& test) { return test.param.strategy; });

TEST(Strategies, AnAnswerAtOnceIsNeverAVerdict) {
  for (const auto& [strategy, event] :
       {std::pair{"history", kTwoOfHistory}, std::pair{"direct", kNamedAtOnce}}) {
    State state = Summarized(strategy);
    ApplyNext(state, Event(event));
    ApplyNext(state, Event(kNothingConfirmed));
    EXPECT_EQ(state.lifecycle, v1::Diagnosis::AWAITING_FEEDBACK) << strategy;
    for (const TrackedHypothesis& each : state.hypotheses) {
      EXPECT_EQ(each.hypothesis.status(), v1::Hypothesis::PENDING) << strategy;
      EXPECT_FALSE(each.hypothesis.has_verdict()) << strategy;
    }
  }
}

TEST(Strategies, FeedbackStartsEachOfThemAnew) {
  for (const auto& [strategy, wants] :
       {std::pair{"taxonomy", "rank/root/2"}, std::pair{"history", "history/2"},
        std::pair{"direct", "at-once/2"}, std::pair{"exhaustive", "list-causes/2"},
        std::pair{"selfplay", "history/2"}, std::pair{"tiered", "history/2"}}) {
    State state = Summarized(strategy);
    for (const char* event : {kTwoOfHistory, kNamedAtOnce, "critiqued {}", "branch_left {}",
                              kNothingConfirmed, "feedback_received { text: 'more' }"}) {
      ApplyNext(state, Event(event));
    }
    EXPECT_THAT(Wants(state), ElementsAre("summarize/2")) << strategy;
    ApplyNext(state, Event("summarized { nodes: 'n1' }"));
    EXPECT_THAT(Wants(state), ElementsAre(wants)) << strategy;
  }
}

TEST(Strategies, WithoutNodesJudgeWithoutChecks) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'exhaustive' }"));
  ApplyNext(state, Event("summarized {}"));
  ApplyNext(state, Event("hypotheses_proposed { origin: TAXONOMY "
                         "hypotheses { hypothesis { label: 'X' } checks: 'a' } }"));
  EXPECT_THAT(Wants(state), ElementsAre("judge/all/1 X"));
}

}  // namespace strategies_test
}  // namespace galen::orchestrator
