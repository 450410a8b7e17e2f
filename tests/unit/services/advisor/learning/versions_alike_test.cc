#include "services/advisor/learning/versions_alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace galen::advisor {
namespace {

using ::testing::ElementsAre;

Behaviour Around(double middle, int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.1);
  Behaviour behaviour;
  for (int i = 0; i < runs; ++i) {
    behaviour.Add({middle + noise(random), noise(random), noise(random), noise(random)});
  }
  return behaviour;
}

TEST(VersionsAlike, ThoseThatBehaveAlikeAreOneSubArchetype) {
  const std::vector<Behaviour> versions = {Around(0, 200, 1), Around(0.02, 200, 2),
                                           Around(0.6, 200, 3), Around(0.61, 200, 4)};
  EXPECT_THAT(GroupAlike(versions), ElementsAre(0, 0, 1, 1));
}

TEST(VersionsAlike, AChainDoesNotJoinItsEnds) {
  std::vector<Behaviour> versions;
  for (int i = 0; i < 6; ++i) versions.push_back(Around(0.08 * i, 5000, 10 + i));
  const std::vector<std::uint32_t> groups = GroupAlike(versions);
  EXPECT_NE(groups.front(), groups.back());
}

TEST(VersionsAlike, OneOfWhichTooLittleIsKnownStandsAlone) {
  const std::vector<Behaviour> versions = {Around(0, 200, 1), Around(0, 3, 2), Around(0, 200, 3)};
  EXPECT_THAT(GroupAlike(versions), ElementsAre(0, 1, 0));
}

// Two versions that differ do not become alike because one run of a third was out of all measure.
TEST(VersionsAlike, OneRunOutOfAllMeasureMakesNothingAlike) {
  for (const double value : {1e308, 99.0, -99.0}) {
    std::vector<Behaviour> versions = {Around(0, 200, 1), Around(5, 200, 2), Around(10, 200, 3)};
    versions[2].Add({value, 0, 0, 0});
    EXPECT_THAT(GroupAlike(versions), ElementsAre(0, 1, 2)) << value;
  }
}

TEST(VersionsAlike, WhatIsNoNumberIsNotCounted) {
  Behaviour behaviour;
  behaviour.Add({NAN, 0, 0, 0});
  behaviour.Add({0, 0, INFINITY, 0});
  EXPECT_EQ(behaviour.runs(), 0);
  EXPECT_THAT(GroupAlike({}), ElementsAre());
}

}  // namespace
}  // namespace galen::advisor
