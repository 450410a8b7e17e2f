#include "common/log_analysis/scan/required_literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::log_scan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kMinSize = 5;

TEST(RequiredLiterals, AreWhatEveryMatchHolds) {
  EXPECT_THAT(RequiredLiterals("Out of memory: Killed process ([0-9]+)", kMinSize),
              ElementsAre("out of memory: killed process "));
  EXPECT_THAT(RequiredLiterals("(?i)(SlowDown|503 Service Unavailable)", kMinSize),
              UnorderedElementsAre("slowdown", "503 service unavailable"));
}

TEST(RequiredLiterals, AreTheRarestThatWillDo) {
  // Every line of a job has "iteration".
  EXPECT_THAT(RequiredLiterals("iteration [0-9]+ .* giving up for good", kMinSize),
              ElementsAre(" giving up for good"));
}

TEST(RequiredLiterals, ThereAreNoneWhereAMatchNeedsNone) {
  EXPECT_THAT(RequiredLiterals("[0-9]+ [a-z]+", kMinSize), IsEmpty());
  EXPECT_THAT(RequiredLiterals("out of memory|[0-9]+", kMinSize), IsEmpty());
  EXPECT_THAT(RequiredLiterals("(out of memory)?", kMinSize), IsEmpty());
  EXPECT_THAT(RequiredLiterals("nan", kMinSize), IsEmpty());
}

TEST(RequiredLiterals, ThereAreNoneThatOrdinaryLogsAreFullOf) {
  EXPECT_THAT(RequiredLiterals("(?i)lm loss", kMinSize), IsEmpty());
}

TEST(RequiredLiterals, ThereAreNoneForWhatRe2CannotRead) {
  EXPECT_THAT(RequiredLiterals("(?<=a)bcdefgh", kMinSize), IsEmpty());
  EXPECT_THAT(RequiredLiterals("[a-", kMinSize), IsEmpty());
}

}  // namespace
}  // namespace galen::log_scan
