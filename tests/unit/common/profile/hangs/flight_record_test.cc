// Claims about which collective a rank did not reach.
// (tests/unit/services/node/checks/trace_test.cc covers reading the dumps of the fixtures and their
// other findings.)
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/profile/hangs/flight_record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::hangs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Missed(const TraceVerdict& verdict) {
  std::vector<std::string> lines;
  for (const MissedCollective& missed : verdict.missed) {
    if (!missed.first) continue;
    lines.push_back(absl::StrCat(missed.group, "|", missed.description, "|", missed.op, "|",
                                 missed.sizes, "|", absl::StrJoin(missed.missing, ",")));
  }
  return absl::StrJoin(lines, "\n");
}

// The ranks that the authors of the faults expect are in a file beside the dumps
// (EXPECTED_missing_ranks.txt).
TEST(FlightRecord, TheCollectiveThatWasMissedIsNamed) {
  const std::string root =
      std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/pytorch-flight-recorder/";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "../shared/fixtures is not here";
  struct DumpCase {
    const char* folder;
    const char* missed;
  };
  for (const DumpCase& one :
       {DumpCase{"gpu_error_2nd",
                 "72|EXPERT_MODEL_PARALLEL_GROUP|nccl:all_to_all|[[2048,5120]]|9,14"},
        DumpCase{"lock_gil_1st",
                 "72|EXPERT_MODEL_PARALLEL_GROUP|nccl:all_to_all|[[2048,5120]]|9,14"},
        DumpCase{"lock_gil_2nd",
                 "73|EXPERT_MODEL_PARALLEL_GROUP|nccl:all_to_all|[[4096,5120]]|10\n"
                 "74|EXPERT_MODEL_PARALLEL_GROUP|nccl:all_to_all|[[4096,5120]]|15"}}) {
    std::map<int, FlightRecord> ranks;
    for (int rank = 0; rank < 16; ++rank) {
      std::ifstream file(absl::StrCat(root, one.folder, "/_dump_", rank), std::ios::binary);
      std::ostringstream bytes;
      bytes << file.rdbuf();
      const auto record = ParseFlightRecord(bytes.str());
      ASSERT_TRUE(record.ok()) << one.folder << " " << rank << ": " << record.status();
      ranks[rank] = *record;
    }
    const TraceVerdict verdict = JudgeTraces(ranks, {"nccl:all_reduce"});
    EXPECT_EQ(Missed(verdict), one.missed) << one.folder;
    EXPECT_THAT(verdict.without_dump, IsEmpty()) << one.folder;
  }
}

FlightRecord Record(std::int64_t sequence, bool completed) {
  FlightRecord record;
  record.groups["0"] = {0, 1, 2};
  record.collectives.push_back({"0", "dp", sequence, "nccl:all_reduce", "[[8]]", completed});
  return record;
}

TEST(FlightRecord, WhoWaitsAndWhoDoesNotComeAreToldApart) {
  const TraceVerdict verdict =
      JudgeTraces({{0, Record(5, false)}, {1, Record(4, true)}, {2, Record(5, false)}}, {});
  ASSERT_EQ(verdict.missed.size(), 1u);
  EXPECT_EQ(verdict.missed[0].sequence, 5);
  EXPECT_THAT(verdict.missed[0].waiting, ElementsAre(0, 2));
  EXPECT_THAT(verdict.missed[0].missing, ElementsAre(1));
}

TEST(FlightRecord, WhatFollowsFromTheFirstIsToldApart) {
  std::map<int, FlightRecord> ranks = {{0, Record(5, false)}, {1, Record(4, true)}};
  for (auto& [rank, record] : ranks) record.groups["1"] = {0, 1};
  // Rank 0 enqueued it later, in another group.
  ranks[0].collectives[0].created = 1000;
  ranks[0].collectives.push_back({"1", "tp", 9, "nccl:all_gather", "[[4]]", false, 2000});
  const TraceVerdict verdict = JudgeTraces(ranks, {});
  ASSERT_EQ(verdict.missed.size(), 2u);
  EXPECT_EQ(verdict.missed[0].op, "nccl:all_reduce");
  EXPECT_TRUE(verdict.missed[0].first);
  EXPECT_EQ(verdict.missed[1].op, "nccl:all_gather");
  EXPECT_FALSE(verdict.missed[1].first);
  EXPECT_THAT(verdict.reasons, ElementsAre("group 0 dp: nccl:all_reduce waits for ranks 1"));
}

TEST(FlightRecord, ADumpThatNestsWithoutEndIsRefused) {
  const std::string deep = absl::StrCat(R"({"entries":[{"input_sizes":)", std::string(100'000, '['),
                                        std::string(100'000, ']'), "}]}");
  EXPECT_FALSE(ParseFlightRecord(deep).ok());
}

TEST(FlightRecord, ARankWithoutADumpIsNotAccused) {
  const TraceVerdict verdict = JudgeTraces({{0, Record(5, false)}, {2, Record(5, false)}}, {});
  EXPECT_THAT(verdict.missed, IsEmpty());
  EXPECT_THAT(verdict.without_dump, ElementsAre(1));
}

}  // namespace
}  // namespace galen::hangs
