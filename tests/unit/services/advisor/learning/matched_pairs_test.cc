#include "services/advisor/learning/matched_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace galen::advisor {
namespace {

// Runs and failures of a workload on a context, spread over `strata`.
void Add(RunCounts& counts, std::uint32_t workload, std::uint32_t context, int runs, int failed,
         std::uint8_t scale = 1, std::uint64_t node = 0) {
  for (int i = 0; i < runs; ++i) {
    counts.Add(workload, context, {.scale = scale}, i < failed, node == 0 ? 1000 + i : node);
  }
}

const Mismatch* Find(const std::vector<Mismatch>& found, std::uint32_t workload,
                     std::uint32_t context) {
  const auto it = std::find_if(found.begin(), found.end(), [&](const Mismatch& each) {
    return each.workload == workload && each.context == context;
  });
  return it == found.end() ? nullptr : &*it;
}

// Workloads 0 and 1 on contexts 0 and 1, 500 runs each; failures by cell.
std::vector<Mismatch> Square(int a00, int a01, int a10, int a11) {
  RunCounts counts;
  Add(counts, 0, 0, 500, a00);
  Add(counts, 0, 1, 500, a01);
  Add(counts, 1, 0, 500, a10);
  Add(counts, 1, 1, 500, a11);
  return FindMismatches(counts, {.least_runs = 10});
}

TEST(MatchedPairs, AWorkloadThatFailsOnOneContextAloneIsAMismatchThere) {
  const std::vector<Mismatch> found = Square(100, 10, 10, 10);
  ASSERT_NE(Find(found, 0, 0), nullptr);
  EXPECT_LT(Find(found, 0, 0)->p, 1e-5);
  EXPECT_EQ(found.front().workload, 0u);
  EXPECT_NEAR(Find(found, 0, 0)->expected, 10, 1);
  for (const Mismatch& each : found) {
    if (each.workload != 0 || each.context != 0) {
      EXPECT_GT(each.p, 0.05);
    }
  }
}

TEST(MatchedPairs, AWorkloadThatFailsEverywhereIsNone) {
  for (const Mismatch& each : Square(100, 100, 10, 10)) EXPECT_GT(each.p, 0.01);
}

TEST(MatchedPairs, AContextOnWhichEverythingFailsIsNone) {
  for (const Mismatch& each : Square(100, 10, 100, 10)) EXPECT_GT(each.p, 0.01);
}

// A bad workload on a bad context fails more than either elsewhere; this is not a mismatch of the
// two.
TEST(MatchedPairs, ABadWorkloadOnABadContextIsNoneWhenRatesMultiply) {
  for (const Mismatch& each : Square(160, 40, 40, 10)) EXPECT_GT(each.p, 0.01);
}

// Large runs fail more, and the workload has its large runs on context 0: without matching it would
// look like a mismatch.
TEST(MatchedPairs, WhatRunsAreLargeIsNoReason) {
  RunCounts counts;
  for (const std::uint32_t workload : {0u, 1u}) {
    const bool skewed = workload == 0;
    Add(counts, workload, 0, skewed ? 450 : 50, skewed ? 180 : 20, 5);
    Add(counts, workload, 0, skewed ? 50 : 450, skewed ? 1 : 9, 1);
    Add(counts, workload, 1, 50, 20, 5);
    Add(counts, workload, 1, 450, 9, 1);
  }
  const std::vector<Mismatch> found = FindMismatches(counts);
  ASSERT_NE(Find(found, 0, 0), nullptr);
  EXPECT_GT(Find(found, 0, 0)->elsewhere.p, 0.01);
  EXPECT_GT(Find(found, 0, 0)->p, 0.01);
}

TEST(MatchedPairs, FailuresOfOneMachineAreSaidToBe) {
  RunCounts counts;
  Add(counts, 0, 0, 500, 100, 1, /*node=*/7);
  Add(counts, 0, 1, 500, 10);
  Add(counts, 1, 0, 500, 10);
  Add(counts, 1, 1, 500, 10);
  const std::vector<Mismatch> found = FindMismatches(counts);
  ASSERT_NE(Find(found, 0, 0), nullptr);
  EXPECT_TRUE(Find(found, 0, 0)->one_node);
  EXPECT_FALSE(Square(100, 10, 10, 10).front().one_node);
}

TEST(MatchedPairs, PValuesOfNothingAreNotSmall) {
  std::mt19937_64 random(3);
  int small = 0;
  int all = 0;
  for (int fleet = 0; fleet < 40; ++fleet) {
    RunCounts counts;
    for (std::uint32_t w = 0; w < 5; ++w) {
      for (std::uint32_t c = 0; c < 5; ++c) {
        for (int i = 0; i < 300; ++i) counts.Add(w, c, {}, random() % 20 == 0, random() % 100 + 1);
      }
    }
    for (const Mismatch& each : FindMismatches(counts)) {
      ++all;
      small += each.elsewhere.p < 0.05 ? 1 : 0;
    }
  }
  EXPECT_GT(all, 900);
  EXPECT_LE(small, all * 6 / 100);
}

TEST(RunCounts, StaysWithinItsRoomByMergingMonthsAndThenSaysWhatItLeftOut) {
  RunCounts counts(64);
  for (std::uint16_t epoch = 0; epoch < 512; ++epoch) {
    for (std::uint32_t w = 0; w < 4; ++w) counts.Add(w, 0, {.epoch = epoch}, false, 0);
  }
  EXPECT_LE(counts.cells(), 64u);
  EXPECT_EQ(counts.left_out(), 0);
  for (std::uint32_t w = 0; w < 1000; ++w) counts.Add(w, 0, {}, false, 0);
  EXPECT_LE(counts.cells(), 64u);
  EXPECT_GT(counts.left_out(), 900);
  std::int64_t kept = 0;
  for (const RunCounts::Cell& cell : counts.Cells()) kept += cell.runs;
  EXPECT_EQ(kept + counts.left_out(), counts.runs());
}

TEST(RunCounts, GiveTheSamePairsForTheSameSeedAndOrderDoesNotMatter) {
  RunCounts forward;
  RunCounts backward;
  std::mt19937_64 random(1);
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> runs;
  for (int i = 0; i < 3000; ++i) {
    runs.push_back({random() % 3, random() % 3, random() % 10 == 0});
  }
  for (const auto& [w, c, failed] : runs) forward.Add(w, c, {}, failed, 0);
  std::reverse(runs.begin(), runs.end());
  for (const auto& [w, c, failed] : runs) backward.Add(w, c, {}, failed, 0);
  const auto a = FindMismatches(forward);
  const auto b = FindMismatches(backward);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].p, b[i].p);
}

}  // namespace
}  // namespace galen::advisor
