#include "services/advisor/learning/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace galen::advisor {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

double Choose(int n, int k) {
  double result = 1;
  for (int i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
  return result;
}

TEST(Statistics, TheBinomialTailIsTheSumOfItsTerms) {
  for (const int n : {1, 5, 20, 60}) {
    for (const double p : {0.01, 0.3, 0.5, 0.97}) {
      for (int k = 0; k <= n; ++k) {
        double sum = 0;
        for (int i = k; i <= n; ++i) sum += Choose(n, i) * std::pow(p, i) * std::pow(1 - p, n - i);
        EXPECT_THAT(BinomialUpperTail(k, n, p), DoubleNear(sum, 1e-10))
            << k << " of " << n << " at " << p;
      }
    }
  }
}

TEST(Statistics, TheBinomialTailOfAMillionTrialsIsNoNonsense) {
  EXPECT_NEAR(BinomialUpperTail(500'000, 1'000'000, 0.5), 0.5, 1e-3);
  EXPECT_NEAR(BinomialUpperTail(501'000, 1'000'000, 0.5), NormalUpperTail(1.999), 1e-4);
  EXPECT_LT(BinomialUpperTail(600'000, 1'000'000, 0.5), 1e-100);
  EXPECT_EQ(BinomialUpperTail(2, 1, 0.5), 0);
  EXPECT_EQ(BinomialUpperTail(0, 0, 0.5), 1);
}

// The lady tasting tea (Fisher, 1935): 3 of 4 cups right by chance in 17 of 70 cases.
TEST(Statistics, FishersLadyTastesTea) {
  EXPECT_NEAR(HypergeometricUpperTail(4, 4, 4, 8), 1.0 / 70, 1e-12);
  EXPECT_NEAR(HypergeometricUpperTail(3, 4, 4, 8), 17.0 / 70, 1e-12);
  EXPECT_EQ(HypergeometricUpperTail(3, 9, 4, 8), 1);  // contradicts itself
}

TEST(Statistics, TheTailOverStrataIsTheSumOverAllWaysToSplitTheHits) {
  const auto likely = [](int k, int draws, int marked, int all) {
    if (k > marked || draws - k > all - marked || k > draws) return 0.0;
    return Choose(marked, k) * Choose(all - marked, draws - k) / Choose(all, draws);
  };
  const std::vector<Draw> strata = {{6, 3, 20}, {9, 12, 14}, {4, 0, 8}};
  for (int hits = 0; hits <= 13; ++hits) {
    double sum = 0;
    for (int a = 0; a <= 6; ++a) {
      for (int b = 0; b <= 9; ++b) {
        if (a + b >= hits) sum += likely(a, 6, 3, 20) * likely(b, 9, 12, 14);
      }
    }
    const double expected = 6 * 3 / 20.0 + 9 * 12 / 14.0;
    EXPECT_NEAR(HypergeometricUpperTail(hits, strata), hits > expected ? sum : 1, 1e-12) << hits;
  }
  // One stratum is Fisher's test, and many hits are what few would be.
  EXPECT_EQ(HypergeometricUpperTail(3, std::vector<Draw>{{4, 4, 8}}),
            HypergeometricUpperTail(3, 4, 4, 8));
  const std::vector<Draw> large = {{1000, 2000, 10'000}, {500, 1000, 10'000}};
  EXPECT_NEAR(std::log(HypergeometricUpperTail(257, large) / HypergeometricUpperTail(256, large)),
              std::log(NormalUpperTail((256.5 - 250) / std::sqrt(186.75)) /
                       NormalUpperTail((255.5 - 250) / std::sqrt(186.75))),
              0.05);
}

// The example of Benjamini and Hochberg's paper (1995, section 4.1): at 0.05 the first four.
TEST(Statistics, BenjaminiAndHochbergsExampleGivesTheirFour) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> found = BenjaminiHochberg(p, 0.05);
  EXPECT_EQ(std::count(found.begin(), found.end(), true), 4);
  EXPECT_TRUE(found[3]);
  EXPECT_FALSE(found[4]);
}

TEST(Statistics, WhatIsNoPValueIsNoDiscoveryAndStillATest) {
  EXPECT_THAT(BenjaminiHochberg({0.04, std::nan(""), -1}, 0.05), ElementsAre(false, false, false));
  EXPECT_THAT(BenjaminiHochberg({0.04}, 0.05), ElementsAre(true));
  EXPECT_THAT(BenjaminiHochberg({}, 0.05), ElementsAre());
}

}  // namespace
}  // namespace galen::advisor
