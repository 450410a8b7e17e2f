// Claims about when a mean is known.
#include "common/perfmodel/steady_mean.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace galen::perfmodel {
namespace {

// Repeats until the rule is satisfied; returns its result. `next` gives sample number i.
template <typename Next>
SteadyMean Repeat(const Next& next, const StopRule& rule, std::size_t most = 200'000) {
  std::vector<double> samples;
  SteadyMean judged;
  while (samples.size() < most && !judged.enough) {
    const std::size_t more = samples.empty() ? rule.first_look : samples.size();
    for (std::size_t i = 0; i < more; ++i) samples.push_back(next(samples.size()));
    judged = JudgeSamples(samples, rule);
  }
  return judged;
}

TEST(SteadyMean, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.706, 1e-3);
  EXPECT_NEAR(StudentQuantile(0.975, 9), 2.2622, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.95, 30), 1.6973, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.995, 1000), 2.5808, 1e-4);
}

TEST(SteadyMean, AWarmUpDoesNotCount) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.5);
  const SteadyMean judged = Repeat(
      [&](std::size_t i) {
        return 100 + 80 * std::exp(-static_cast<double>(i) / 8) + noise(random);
      },
      {});
  EXPECT_TRUE(judged.enough);
  EXPECT_GE(judged.warm_up, 10U);
  EXPECT_NEAR(judged.mean, 100, 1);
}

TEST(SteadyMean, WhatStillDriftsIsNotWarm) {
  std::vector<double> samples;
  for (int i = 0; i < 640; ++i) samples.push_back(1000 - i);
  EXPECT_FALSE(JudgeSamples(samples, {}).enough);
}

TEST(SteadyMean, FewOrBrokenSamplesAreNotEnough) {
  EXPECT_FALSE(JudgeSamples({}, {}).enough);
  EXPECT_FALSE(JudgeSamples(std::vector<double>(39, 1.0), {}).enough);
  std::vector<double> samples(200, 1.0);
  EXPECT_TRUE(JudgeSamples(samples, {}).enough);
  samples[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(JudgeSamples(samples, {}).enough);
}

// 300 measurements each whose samples follow one another (correlation 0.6) after a warm-up: however
// often the rule looks, the mean lies in the interval that it stops with.
TEST(SteadyMean, TheIntervalKeepsItsConfidenceOverAllLooks) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  StopRule rule;
  rule.half_width = 0.02;
  int covered = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    double last = 0;
    const SteadyMean judged = Repeat(
        [&](std::size_t i) {
          last = 0.6 * last + noise(random);
          return 20 + last + 20 * std::exp(-static_cast<double>(i) / 10);
        },
        rule);
    EXPECT_TRUE(judged.enough);
    covered += judged.low <= 20 && 20 <= judged.high ? 1 : 0;
  }
  EXPECT_GE(covered, 0.95 * kRuns - 3 * std::sqrt(0.95 * 0.05 * kRuns));
}

}  // namespace
}  // namespace galen::perfmodel
