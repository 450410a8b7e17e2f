#include "common/llm/circuit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::llm {
namespace {

using State = Health::Circuit;

constexpr CircuitPolicy kPolicy{.consecutive = 3,
                                .rate = 0.5,
                                .least = 10,
                                .window = absl::Seconds(60),
                                .cool_down = absl::Seconds(10),
                                .longest = absl::Seconds(35),
                                .jitter = 0.5};

absl::Time At(int second) { return absl::FromUnixSeconds(1'700'000'000 + second); }

// One event of a circuit, and its state afterwards.
struct Step {
  int second;
  char what;  // g good, b bad, n neither: admitted and reported at once; x: is not admitted
  State state;
};

struct Case {
  std::string name;
  std::vector<Step> steps;
};

class CircuitTable : public ::testing::TestWithParam<Case> {};

TEST_P(CircuitTable, GoesThroughItsStates) {
  Circuit circuit(kPolicy);
  for (std::size_t i = 0; i < GetParam().steps.size(); ++i) {
    const Step& step = GetParam().steps[i];
    SCOPED_TRACE(i);
    const auto ticket = circuit.Admit(At(step.second));
    ASSERT_EQ(ticket.has_value(), step.what != 'x');
    if (ticket.has_value()) {
      circuit.Report(*ticket,
                     step.what == 'g'   ? Outcome::kGood
                     : step.what == 'b' ? Outcome::kBad
                                        : Outcome::kNeither,
                     At(step.second), /*chance=*/0);
    }
    EXPECT_EQ(circuit.state(At(step.second)), step.state);
  }
}

constexpr State kClosed = State::kClosed;
constexpr State kOpen = State::kOpen;
constexpr State kHalfOpen = State::kHalfOpen;

INSTANTIATE_TEST_SUITE_P(
    All, CircuitTable,
    ::testing::Values(
        Case{"FailuresInARowOpenIt",
             {{0, 'b', kClosed}, {1, 'b', kClosed}, {2, 'b', kOpen}, {3, 'x', kOpen}}},
        Case{"ASuccessBetweenThemDoesNot",
             {{0, 'b', kClosed},
              {1, 'b', kClosed},
              {2, 'g', kClosed},
              {3, 'b', kClosed},
              {4, 'b', kClosed}}},
        Case{"WhatSaysNothingIsNoSuccess",
             {{0, 'b', kClosed}, {1, 'b', kClosed}, {2, 'n', kClosed}, {3, 'b', kOpen}}},
        Case{"HalfOfTheWindowOpensIt",
             {{0, 'g', kClosed},
              {1, 'g', kClosed},
              {2, 'g', kClosed},
              {3, 'b', kClosed},
              {4, 'b', kClosed},
              {5, 'g', kClosed},
              {6, 'b', kClosed},
              {7, 'b', kClosed},
              {8, 'g', kClosed},
              {9, 'b', kOpen}}},
        Case{"WhatLiesBeforeTheWindowDoesNotCount",
             {{0, 'g', kClosed},
              {1, 'g', kClosed},
              {2, 'g', kClosed},
              {3, 'b', kClosed},
              {4, 'b', kClosed},
              {5, 'g', kClosed},
              {6, 'b', kClosed},
              {7, 'b', kClosed},
              {8, 'g', kClosed},
              {69, 'b', kClosed},
              {70, 'b', kClosed}}},
        Case{"AProbeThatWorksClosesIt",
             {{0, 'b', kClosed},
              {1, 'b', kClosed},
              {2, 'b', kOpen},
              {11, 'x', kOpen},
              {12, 'g', kClosed},
              {13, 'b', kClosed},
              {14, 'b', kClosed}}},
        Case{"AProbeThatFailsOpensItForTwiceAsLong",
             {{0, 'b', kClosed},
              {1, 'b', kClosed},
              {2, 'b', kOpen},
              {12, 'b', kOpen},
              {31, 'x', kOpen},
              {32, 'b', kOpen},
              {66, 'x', kOpen},
              {67, 'g', kClosed}}},
        Case{"AProbeThatSaysNothingMakesWayForTheNext",
             {{0, 'b', kClosed},
              {1, 'b', kClosed},
              {2, 'b', kOpen},
              {12, 'n', kHalfOpen},
              {12, 'g', kClosed}}},
        Case{"AClockThatRunsBackwardsKeepsItOpen",
             {{100, 'b', kClosed},
              {101, 'b', kClosed},
              {102, 'b', kOpen},
              {0, 'x', kOpen},
              {112, 'g', kClosed}}}),
    [](const auto& test) { return test.param.name; });

TEST(Circuit, LetsOneProbePassAtATime) {
  Circuit circuit(kPolicy);
  for (int i = 0; i < 3; ++i) circuit.Report(*circuit.Admit(At(0)), Outcome::kBad, At(0), 0);
  const auto probe = circuit.Admit(At(10));
  ASSERT_TRUE(probe.has_value());
  EXPECT_FALSE(circuit.Admit(At(10)).has_value());
  circuit.Report(*probe, Outcome::kGood, At(11), 0);
  EXPECT_TRUE(circuit.Admit(At(11)).has_value());
}

TEST(Circuit, PassesOverWhatWasSentBeforeItOpened) {
  Circuit circuit(kPolicy);
  const auto early = circuit.Admit(At(0));
  for (int i = 0; i < 3; ++i) circuit.Report(*circuit.Admit(At(0)), Outcome::kBad, At(0), 0);
  const auto probe = circuit.Admit(At(10));
  circuit.Report(*early, Outcome::kGood, At(10), 0);
  EXPECT_EQ(circuit.state(At(10)), State::kHalfOpen);
  circuit.Report(*probe, Outcome::kBad, At(10), 0);
  EXPECT_EQ(circuit.state(At(10)), State::kOpen);
  EXPECT_EQ(circuit.opened(), 2);
}

TEST(Circuit, StaysOpenLongerByChance) {
  Circuit circuit(kPolicy);
  for (int i = 0; i < 3; ++i) circuit.Report(*circuit.Admit(At(0)), Outcome::kBad, At(0), 0.5);
  EXPECT_EQ(circuit.open_until() - At(0), absl::Seconds(12.5));
}

}  // namespace
}  // namespace galen::llm
