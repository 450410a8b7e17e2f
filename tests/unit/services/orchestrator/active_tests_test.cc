// A test loads a device: it never runs without a permission in the log.
#include "services/orchestrator/active_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "services/orchestrator/request_builders.h"
#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace active_tests_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTests[] =
    "explored { tests { id: 'burn@n1' check: 'burn' node: 'n1' loads: true occupies: 'gpu' } "
    "tests { id: 'pair' check: 'pair' loads: true occupies: 'nic' } }";
constexpr char kNothing[] = "concluded { report { outcome: NO_CAUSE_CONFIRMED } }";

State Proposed() {
  State state = Summarized();
  ApplyNext(state, Event(kTests));
  ApplyNext(state, Event(kNothing));
  return state;
}

TEST(ActiveTests, WaitForPermission) {
  const State state = Proposed();
  EXPECT_TRUE(IsInactive(state));
  EXPECT_THAT(Wants(state), IsEmpty());
}

TEST(ActiveTests, OneThatIsAllowedRunsOnceOnItsMachine) {
  State state = Proposed();
  ApplyNext(state, Event("feedback_received { by: 'ada' allowed_tests: 'burn@n1' }"));
  ApplyNext(state, Event("summarized { nodes: 'n1' nodes: 'n2' }"));
  const Decision decision = Decide(state);
  ASSERT_EQ(decision.effects.size(), 1u);
  const auto request = TestRequestOf(state, decision.effects[0]);
  EXPECT_THAT(request.checks(), ElementsAre("burn"));
  EXPECT_THAT(request.nodes(), ElementsAre("n1"));
  EXPECT_TRUE(request.allow_intrusive());
  EXPECT_FALSE(request.allow_busy());
  ApplyNext(state, Event("check_completed { result { id: 'burn@n1' check: 'burn' node: 'n1' "
                         "status: FAIL } }"));
  for (const Effect& effect : Decide(state).effects) {
    EXPECT_NE(effect.kind, Effect::Kind::kTest);
  }
  EXPECT_EQ(state.evidence.count("burn@n1"), 1u);
  // The next round of checks does not load them again.
  ApplyNext(state, Event(kNothing));
  ApplyNext(state, Event("feedback_received { text: 'again' }"));
  ApplyNext(state, Event("summarized { nodes: 'n1' }"));
  for (const std::string& want : Wants(state)) EXPECT_EQ(want.find("burn"), std::string::npos);
}

TEST(ActiveTests, OneBetweenMachinesRunsOnAllOfThem) {
  State state = Summarized();
  ApplyNext(state, Event("summarized { nodes: 'n1' nodes: 'n2' }"));
  ApplyNext(state, Event(kTests));
  ApplyNext(state, Event(kNothing));
  ApplyNext(state, Event("feedback_received { allowed_tests: 'pair' }"));
  ASSERT_EQ(state.round.allowed.size(), 1u);
  EXPECT_THAT(state.round.allowed[0].nodes, ElementsAre("n1", "n2"));
}

TEST(ActiveTests, WhatIsNotProposedIsNotAllowed) {
  State state = Proposed();
  google::protobuf::RepeatedPtrField<std::string> ids;
  *ids.Add() = "burn@n1";
  EXPECT_EQ(NotProposed(state, ids), "");
  *ids.Add() = "burn@n9";
  EXPECT_EQ(NotProposed(state, ids), "burn@n9");
  ApplyNext(state, Event("feedback_received { allowed_tests: 'wipe@n1' }"));
  EXPECT_THAT(state.round.allowed, IsEmpty());
}

TEST(ActiveTests, NothingRunsOnACapture) {
  State state = Proposed();
  state.incident.set_bundle("b");
  ApplyNext(state, Event("feedback_received { allowed_tests: 'burn@n1' }"));
  EXPECT_THAT(state.round.allowed, IsEmpty());
}

TEST(ActiveTests, ThePolicyAllowsOnlyWhatIsKnownToBeIdle) {
  const auto with = [](const std::string& processes) {
    State state = Summarized();
    if (!processes.empty()) ApplyNext(state, Event(processes));
    ApplyNext(state, Event(kTests));
    ApplyNext(state, Event(kNothing));
    return state;
  };
  const std::string result =
      "check_completed { result { id: 'gpu.processes@n1' check: 'gpu.processes' node: 'n1' ";
  const std::string idle =
      absl::StrCat(result, "status: PASS findings { name: 'processes_per_gpu' int_value: 0 } } }");
  const std::string busy =
      absl::StrCat(result,
                   "status: PASS findings { name: 'processes_per_gpu' int_value: 0 } "
                   "findings { name: 'processes_per_gpu' int_value: 1 } } }");
  const std::string unknown = absl::StrCat(result, "status: SKIPPED } }");
  const auto allowed = AllowByPolicy(with(idle), TestPolicy::kIdle);
  ASSERT_TRUE(allowed.has_value());
  EXPECT_THAT(allowed->feedback_received().allowed_tests(), ElementsAre("burn@n1"));
  EXPECT_FALSE(AllowByPolicy(with(busy), TestPolicy::kIdle).has_value());
  EXPECT_FALSE(AllowByPolicy(with(unknown), TestPolicy::kIdle).has_value());
  EXPECT_FALSE(AllowByPolicy(with(""), TestPolicy::kIdle).has_value());
  EXPECT_FALSE(AllowByPolicy(with(idle), TestPolicy::kApproved).has_value());
  EXPECT_FALSE(AllowByPolicy(with(idle), TestPolicy::kNever).has_value());
  // Once: a person decides what it leaves open.
  State after = with(idle);
  ApplyNext(after, *allowed);
  ApplyNext(after, Event("summarized { nodes: 'n1' }"));
  ApplyNext(after, Event(kTests));
  ApplyNext(after, Event(kNothing));
  EXPECT_FALSE(AllowByPolicy(after, TestPolicy::kIdle).has_value());
}

// For any actions of planning, reflection and people, in any order: a call that allows loading a
// device names only tests that an answer in the log allowed and that a report had proposed.
TEST(ActiveTests, NoPathRunsOneWithoutItsPermission) {
  const std::vector<std::string> events = {
      kTests,
      kNothing,
      "concluded { report { outcome: CAUSE_CONFIRMED } }",
      "summarized { nodes: 'n1' nodes: 'n2' }",
      "summarized { nodes: 'n1' opening_checks: 'burn' }",
      "hypotheses_proposed { hypotheses { hypothesis { label: 'X' } checks: 'burn' } }",
      "screened { checks: 'burn' checks: 'pair' }",
      "screened { hypotheses { hypothesis { label: 'X' } checks: 'pair' } }",
      "screened {}",
      "children_ranked { children { label: 'A' checks: 'burn' } }",
      "children_ranked { label: 'A' children { label: 'A.Y' leaf: true checks: 'pair' } }",
      "critiqued { add { hypothesis { label: 'Z' } checks: 'burn' } }",
      "explored { questions { id: 'burn@n1' check: 'burn' node: 'n1' loads: true } }",
      "explored { tests { id: 'burn@n1' check: 'burn' node: 'n1' loads: false } }",
      "explored {}",
      "verdicts_given { batch: 'judge/history/1' verdicts { label: 'X' outcome: REJECTED } }",
      "check_completed { result { id: 'burn@n1' check: 'burn' node: 'n1' status: SKIPPED } }",
      "checks_finished {}",
      "branch_left {}",
      "feedback_received { text: 'please run burn on n1' }",
      "feedback_received { text: 'x' allowed_tests: 'burn@n1' }",
      "feedback_received { allowed_tests: 'burn@n2' allowed_tests: 'rm' }",
      "feedback_received { look_again: true }",
      "call_failed { call: 'test/burn/2' attempt: 1 }",
      "escalated {}",
  };
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    State state = Summarized(seed % 2 == 0 ? "tiered" : "exhaustive");
    std::set<std::string> permitted;  // "check@node", of this round
    for (int step = 0; step < 40; ++step) {
      const v1::DiagnosisEvent event = Event(events[random() % events.size()]);
      if (event.has_feedback_received()) {
        permitted.clear();
        for (const std::string& id : event.feedback_received().allowed_tests()) {
          for (const v1::Question& test : state.round.tests) {
            if (test.id() == id && test.loads()) permitted.insert(id);
          }
        }
      }
      ApplyNext(state, event);
      for (const Effect& effect : Decide(state).effects) {
        if (effect.kind == Effect::Kind::kChecks) {
          ASSERT_FALSE(RunChecksRequestOf(state, effect).allow_intrusive());
        }
        if (effect.kind != Effect::Kind::kTest) continue;
        const auto request = TestRequestOf(state, effect);
        for (const std::string& check : request.checks()) {
          for (const std::string& node : request.nodes()) {
            ASSERT_EQ(permitted.count(absl::StrCat(check, "@", node)), 1u)
                << "seed " << seed << ", step " << step << ": " << effect.id;
          }
        }
        ASSERT_FALSE(request.allow_busy());
      }
    }
  }
}

}  // namespace active_tests_test
}  // namespace galen::orchestrator
