// Claims about answers of NCCL's RAS.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/profile/hangs/nccl_ras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::hangs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Fixture(const std::string& name) {
  std::ifstream file(std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/nccl-ras/" + name,
                     std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(NcclRas, EachAnswerOfTheFixturesIsSaidInWords) {
  if (Fixture("ras-summary-ok.txt").empty()) GTEST_SKIP() << "../shared/fixtures is not here";
  struct AnswerCase {
    const char* file;
    std::vector<std::string> sentences;
    std::set<int> suspects;
  };
  const AnswerCase cases[] = {
      {"ras-dead-process.txt",
       {"process 3487984 on node 172.16.64.213 (GPU 5) is dead",
        "communicator #0-0: nothing was heard of rank 21"},
       {21}},
      {"ras-finalize-mismatch.txt",
       {"communicator #0-0: 26 ranks: status UNKNOWN; ranks 0,8,16,24: status RUNNING; ranks 4,20: "
        "status FINALIZE"},
       {}},
      {"ras-incomplete-timeout.txt",
       {"process 3487984 on node 172.16.64.213 (GPU 5) does not answer",
        "communicator #0-0: nothing was heard of rank 21", "2 time-outs while asking"},
       {21}},
      {"ras-mismatch-row.txt",
       {"group 0 of communicators (32 ranks): MISMATCH; which ranks, this part of the answer does "
        "not say"},
       {}},
      {"ras-monitor-peer-dead.json", {"process 1524345 on node 172.16.64.245 (GPU 1) is dead"}, {}},
      {"ras-monitor-peer-dead.txt", {"process 1524345 on node 172.16.64.245 (GPU 1) is dead"}, {}},
      {"ras-summary-ok.txt", {}, {}}};
  std::size_t told = 0;
  for (const AnswerCase& one : cases) {
    const std::string text = Fixture(one.file);
    EXPECT_TRUE(LooksLikeRas(text)) << one.file;
    const auto report = ParseRas(text);
    ASSERT_TRUE(report.ok()) << one.file << ": " << report.status();
    EXPECT_EQ(report->Sentences(), one.sentences) << one.file;
    EXPECT_EQ(report->Suspects(), one.suspects) << one.file;
    ++told;
  }
  std::size_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(GALEN_SOURCE_DIR) +
                                                               "/../shared/fixtures/nccl-ras")) {
    there += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(told, there) << "a fixture that no line above speaks of";
}

// As NCCL 2.24 prints it (user guide, RAS).
TEST(NcclRas, RanksThatAreBehindAreNamedWithTheOperation) {
  const auto report = ParseRas(
      "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
      "    #  in group  per comm  per node  per comm  in group\n"
      "    0         1         4         8        32        32   RUNNING  MISMATCH\n\n"
      "Warnings\n========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
      "  Communicator ranks have different collective operation counts\n"
      "  30 ranks have launched up to operation 6650\n"
      "  2 ranks have launched up to operation 6649\n"
      "  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210\n"
      "  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210\n");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->Suspects(), ElementsAre(0, 2));
  EXPECT_THAT(report->Sentences(),
              ElementsAre(HasSubstr("30 ranks came to collective operation 6650; ranks 0,2 came to "
                                    "collective operation 6649 (of a job that runs, ask again")));
}

// As NCCL 2.30 prints it: by operation, a single rank in one line.
TEST(NcclRas, ASingleRankBehindIsNamed) {
  const auto report = ParseRas(
      "#0-0 (78db921d1c117b4a) MISMATCH\n"
      "  Communicator ranks have different AllReduce operation counts\n"
      "  7 ranks have launched up to operation 64\n"
      "  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node "
      "node1\n");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->Suspects(), ElementsAre(7));
  EXPECT_THAT(report->Sentences(), ElementsAre(HasSubstr("rank 7 came to AllReduce operation 60")));
}

TEST(NcclRas, JsonTellsMissingRanksAndCounts) {
  const auto report = ParseRas(R"({"nccl_version":"2.29.1","communicators_count":2,"communicators":[
    {"hash":"0xae","size":3,"ranks":[
      {"rank":0,"status":{"async_error":0,"abort_flag":false},"collective_counts":{"AllReduce":9,"Reduce":0}},
      {"rank":1,"status":{"async_error":0,"abort_flag":false},"collective_counts":{"AllReduce":8,"Reduce":0}}],
     "missing_ranks":[{"rank":2,"host":"a","pid":7,"cuda_dev":1,"status":{"unresponsive":true,"considered_dead":false}}]},
    {"hash":"0xaf","size":1,"ranks":[{"rank":0,"collective_counts":{"AllReduce":4}}],"missing_ranks":[]}],
    "ras":{"collection_time_sec":0.1,"timeouts_count":0}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->communicators_read, 2);
  EXPECT_THAT(report->Suspects(), ElementsAre(1, 2));
  EXPECT_THAT(
      report->Sentences(),
      ElementsAre("process 7 on node a (GPU 1) does not answer",
                  "communicator 0xae: nothing was heard of rank 2",
                  HasSubstr("rank 1 came to AllReduce operation 8; rank 0 came to AllReduce "
                            "operation 9")));
}

TEST(NcclRas, OtherTextsAreNone) {
  for (const char* text :
       {"", "hello", "{}", "{\"communicators\":7}", "[1,2]", "{\"event\":\"x\"}"}) {
    EXPECT_FALSE(ParseRas(text).ok()) << text;
  }
  EXPECT_FALSE(LooksLikeRas("a training log\nloss 3.2\n"));
}

TEST(NcclRas, ACutAnswerIsReadAsFarAsItGoes) {
  const std::string text =
      "DEAD\n  Process 3 on node a managing GPU 5\n#0-0 (cf) INCOMPLETE\n"
      "  The missing ranks: 3,4";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    static_cast<void>(ParseRas(text.substr(0, size)));
  }
  EXPECT_THAT(ParseRas(text)->Suspects(), ElementsAre(3, 4));
  EXPECT_THAT(ParseRas("DEAD\n")->Sentences(), IsEmpty());
}

}  // namespace
}  // namespace galen::hangs
