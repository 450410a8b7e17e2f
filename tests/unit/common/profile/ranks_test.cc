// Claims about which rank is late.
#include <string>
#include <vector>

#include "common/profile/ranks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

using ::testing::HasSubstr;

struct Made {
  double compute = 50;  // of each step
  double arrive = 50;   // after its begin
  double clock = 0;     // by which its host is ahead
};

std::string Gathered(double begin, double end, int sequence) {
  std::string more =
      sequence < 0 ? "" : absl::StrCat(R"(,"Process Group Name":"3","Seq":)", sequence);
  return absl::StrCat(
      R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllGather","pid":0,"tid":9,"ts":)", begin,
      R"(,"dur":)", end - begin, R"(,"args":{"device":0,"stream":9)", more, "}}");
}

// Steps of 100 us; a collective ends on all ranks at 90.
TraceReport Rank(int rank, const Made& made, bool numbered, int missing = -1) {
  std::vector<std::string> events;
  for (int step = 0; step < 5; ++step) {
    const double at = 100.0 * step + made.clock;
    events.push_back(StepMark(step, at, at + 100));
    events.push_back(Kernel("ampere_sgemm_128x64_nn", 0, 7, at, at + made.compute));
    if (step != missing) {
      events.push_back(Gathered(at + made.arrive, at + 90, numbered ? step : -1));
    }
  }
  TraceReport report =
      ReportOf(TraceText(events, absl::StrCat(R"("distributedInfo":{"rank":)", rank, "},")));
  report.file = absl::StrCat("rank", rank, ".json");
  return report;
}

TEST(Ranks, WhoComputesLongerIsTheStraggler) {
  std::vector<TraceReport> traces;
  for (int rank = 0; rank < 8; ++rank) {
    const double compute = rank == 5 ? 80 : 50 + 0.2 * rank;
    traces.push_back(Rank(rank, {compute, compute, 1e6 * rank}, true));
  }
  const RankComparison ranks = CompareRanks(traces);
  ASSERT_TRUE(ranks.slowest.has_value());
  EXPECT_EQ(ranks.ranks[*ranks.slowest].who, "rank 5");
  EXPECT_EQ(ranks.lateness, Lateness::kComputes);
  EXPECT_TRUE(ranks.certain);
  EXPECT_EQ(ranks.matched, 5u);
  EXPECT_EQ(ranks.ranks[5].last, 5u);
  EXPECT_NEAR(ranks.ranks[5].waited, 0, 1e-12);
  EXPECT_NEAR(ranks.ranks[0].waited, 30e-6, 1e-9);
}

TEST(Ranks, WhoArrivesLastAndComputesNoLongerIsHeldUpElsewhere) {
  std::vector<TraceReport> traces;
  for (int rank = 0; rank < 6; ++rank) {
    traces.push_back(Rank(rank, {50, rank == 2 ? 85.0 : 50.0 + rank, 0}, true));
  }
  const RankComparison ranks = CompareRanks(traces);
  ASSERT_TRUE(ranks.slowest.has_value());
  EXPECT_EQ(ranks.ranks[*ranks.slowest].who, "rank 2");
  EXPECT_EQ(ranks.lateness, Lateness::kArrives);
}

TEST(Ranks, EqualRanksAreToldNoStraggler) {
  std::vector<TraceReport> traces;
  for (int rank = 0; rank < 8; ++rank) {
    traces.push_back(Rank(rank, {50 + 0.1 * (rank % 3), 52, 0}, true));
  }
  EXPECT_FALSE(CompareRanks(traces).slowest.has_value());
}

TEST(Ranks, OfTwoNoneIsTheOddOne) {
  const std::vector<TraceReport> traces = {Rank(0, {50, 50, 0}, true), Rank(1, {70, 70, 0}, true)};
  const RankComparison ranks = CompareRanks(traces);
  ASSERT_TRUE(ranks.slowest.has_value());
  EXPECT_EQ(ranks.ranks[*ranks.slowest].who, "rank 1");
  EXPECT_FALSE(ranks.certain);
  EXPECT_NEAR(ranks.ahead, 0.4, 1e-6);
}

TEST(Ranks, CollectivesWithoutANumberAreMatchedByTheirOrderWhereTheyEndTogether) {
  const std::vector<TraceReport> same = {Rank(0, {50, 50, 0}, false),
                                         Rank(1, {50, 80, 5e5}, false)};
  EXPECT_EQ(CompareRanks(same).matched, 5u);
  const std::vector<TraceReport> fewer = {Rank(0, {50, 50, 0}, false),
                                          Rank(1, {50, 80, 0}, false, 2)};
  EXPECT_EQ(CompareRanks(fewer).matched, 0u);
  EXPECT_THAT(CompareRanks(fewer).not_matched, HasSubstr("not the same number"));
  // As many, but others.
  std::vector<TraceReport> others = {Rank(0, {50, 50, 0}, false), Rank(1, {50, 80, 0}, false)};
  std::int64_t shift = 1'000'000'000;
  for (Met& met : others[1].devices[0].met) {
    met.when.begin += shift;
    met.when.end += shift;
    shift *= -3;
  }
  EXPECT_EQ(CompareRanks(others).matched, 0u);
  EXPECT_THAT(CompareRanks(others).not_matched, HasSubstr("do not end together"));
}

TEST(Ranks, WithNumbersThoseThatAllHaveAreMatched) {
  const std::vector<TraceReport> traces = {Rank(0, {50, 50, 0}, true),
                                           Rank(1, {50, 80, 0}, true, 2)};
  EXPECT_EQ(CompareRanks(traces).matched, 4u);
}

TEST(Ranks, OneTraceIsNotCompared) {
  const std::vector<TraceReport> traces = {Rank(0, {50, 50, 0}, true)};
  const RankComparison ranks = CompareRanks(traces);
  EXPECT_EQ(ranks.ranks.size(), 1u);
  EXPECT_FALSE(ranks.slowest.has_value());
  EXPECT_EQ(ranks.matched, 0u);
}

}  // namespace
}  // namespace galen::profile
