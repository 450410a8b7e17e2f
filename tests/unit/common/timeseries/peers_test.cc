// Places that differ from their peers.
#include "common/timeseries/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/timeseries/numbers.h"

namespace galen::timeseries {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Panel Healthy(std::size_t entities, unsigned seed, float level = 100) {
  Panel panel(entities, 300);
  for (std::size_t i = 0; i < entities; ++i)
    Put(panel, i, Noise(300, seed * 7919 + static_cast<unsigned>(i), 2, level));
  return panel;
}

TEST(PeersTest, OneOfFourAndOneOfAThousandStandOut) {
  for (const std::size_t entities : {4U, 8U, 50U, 1000U}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      Panel panel = Healthy(entities, seed);
      const std::size_t faulty = (seed * 31) % entities;
      for (std::size_t t = 100; t < 250; ++t) panel.Row(faulty)[t] += 25;
      const PeerReport report = FindOutliers(panel);
      ASSERT_THAT(report.outliers, SizeIs(1)) << entities << " entities, seed " << seed;
      EXPECT_EQ(report.outliers[0].entity, faulty);
      EXPECT_GT(report.outliers[0].score, 6);
      EXPECT_NEAR(report.outliers[0].value, 125, 3);
      EXPECT_NEAR(report.outliers[0].peers, 100, 2);
      EXPECT_NEAR(static_cast<double>(report.outliers[0].begin), 105, 15);
    }
  }
}

TEST(PeersTest, AShiftOfAllIsNobodys) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Panel panel = Healthy(64, seed);
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t t = 120; t < 220; ++t) panel.Row(i)[t] -= 60;
    }
    EXPECT_THAT(FindOutliers(panel).outliers, IsEmpty()) << "seed " << seed;
  }
}

TEST(PeersTest, AHabitOfAGroupIsNobodys) {
  Panel panel = Healthy(40, 3);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t t = 0; t < 300; ++t) panel.Row(i)[t] += 50;
  }
  EXPECT_THAT(FindOutliers(panel).outliers, IsEmpty());
}

TEST(PeersTest, ABlipIsNone) {
  Panel panel = Healthy(16, 4);
  for (std::size_t t = 100; t < 130; ++t) panel.Row(5)[t] += 500;
  EXPECT_THAT(FindOutliers(panel).outliers, IsEmpty());
}

TEST(PeersTest, ErrorsOfOneWhereAllOthersHaveNone) {
  Panel panel(16, 300);
  for (std::size_t i = 0; i < 16; ++i) Put(panel, i, std::vector<float>(300, 0));
  for (std::size_t t = 60; t < 300; ++t) panel.Row(9)[t] = 3;
  const PeerReport report = FindOutliers(panel);
  ASSERT_THAT(report.outliers, SizeIs(1));
  EXPECT_EQ(report.outliers[0].entity, 9U);
}

TEST(PeersTest, OneWithoutSamplesIsNotZero) {
  Panel panel = Healthy(16, 5);
  for (float& value : panel.Row(2)) value = kUnknown;
  EXPECT_THAT(FindOutliers(panel).outliers, IsEmpty());
}

TEST(PeersTest, WithTooFewNothingIsCompared) {
  Panel panel = Healthy(3, 6);
  for (float& value : panel.Row(2)) value += 100;
  const PeerReport report = FindOutliers(panel);
  EXPECT_THAT(report.outliers, IsEmpty());
  EXPECT_EQ(report.compared, 0U);
  EXPECT_EQ(report.windows, 20U);
}

}  // namespace
}  // namespace galen::timeseries
