// Claims about user.launch: ranks, sizes and shards in the logs of several nodes.
#include <string>

#include "gtest/gtest.h"
#include "services/node/checks/job/launch.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

std::string Launch(const FakeHost& host, const char* finding) {
  const auto output = CheckUserLaunch({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, finding);
}

std::string Ranks(int first, int second, int size) {
  std::string text;
  for (const int rank : {first, second}) {
    text += absl::StrCat("local process: init_process_group(backend='nccl', rank=", rank,
                         ", world_size=", size, ")\n");
  }
  return text;
}

TEST(UserLaunch, TwoNodesThatStartTheSameRanksAreSeen) {
  FakeHost host;
  host.AddLog("a.log", Ranks(0, 1, 4), "a");
  host.AddLog("b.log", Ranks(0, 1, 4), "b");
  EXPECT_EQ(Launch(host, "duplicate_rank"), "true");
  EXPECT_EQ(Launch(host, "ranks_missing"), "2, 3");
  EXPECT_EQ(Launch(host, "ranks_started"), "4");
  EXPECT_EQ(Launch(host, "world_size"), "4");
  EXPECT_EQ(Launch(host, "world_size_differs"), "false");
}

TEST(UserLaunch, TheLaunchLineTellsHowManyRanksANodeHas) {
  for (const char* line :
       {"torchrun --nproc_per_node=8 train.py\n", "torchrun --nproc-per-node 8 x\n",
        "deepspeed --num_gpus 8 train.py\n", "srun --ntasks-per-node=8 x\n"}) {
    FakeHost host;
    host.AddLog("a.log", line, "a");
    EXPECT_EQ(Launch(host, "nproc_per_node"), "8") << line;
  }
  FakeHost differing;
  differing.AddLog("a.log", "torchrun --nproc_per_node=8 x\ntorchrun --nproc_per_node=4 x\n", "a");
  EXPECT_EQ(Launch(differing, "nproc_per_node"), "?");
}

TEST(UserLaunch, RanksThatAreAllThereAreNoFault) {
  FakeHost host;
  host.AddLog("a.log", Ranks(0, 1, 4), "a");
  host.AddLog("b.log", Ranks(2, 3, 4), "b");
  EXPECT_EQ(Launch(host, "duplicate_rank"), "false");
  EXPECT_EQ(Launch(host, "ranks_missing"), "none");
}

TEST(UserLaunch, AnotherNodesLogThatIsNotAtHandTellsNothing) {
  FakeHost one;
  one.AddLog("a.log", Ranks(0, 1, 4), "a");
  EXPECT_EQ(Launch(one, "duplicate_rank"), "?");
  EXPECT_EQ(Launch(one, "ranks_missing"), "?");
  // The same node twice: a job that was started again.
  FakeHost again;
  again.AddLog("a1.log", Ranks(0, 1, 4), "a");
  again.AddLog("a2.log", Ranks(0, 1, 4), "a");
  EXPECT_EQ(Launch(again, "duplicate_rank"), "?");
}

TEST(UserLaunch, RanksWithinAGroupAreNotThoseOfTheJob) {
  FakeHost host;
  host.AddLog("a.log", "local rank: 0, world size: 2\nDP rank 0 of 2\nTP-rank=0 world_size=2\n",
              "a");
  host.AddLog("b.log", "local rank: 0, world size: 2\nDP rank 0 of 2\n", "b");
  EXPECT_EQ(Launch(host, "ranks_started"), "?");
  EXPECT_EQ(Launch(host, "duplicate_rank"), "?");
  FakeHost lightning;
  lightning.AddLog("a.log", "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2\n", "a");
  lightning.AddLog("b.log", "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2\n", "b");
  EXPECT_EQ(Launch(lightning, "duplicate_rank"), "true");
}

TEST(UserLaunch, ANodeRankGivenTwiceCountsUnlessTheRendezvousGivesThemOut) {
  const std::string line =
      "+ torchrun --nproc_per_node 8 --nnodes=2 --node_rank=0 --master_addr=a t.py\n";
  FakeHost host;
  host.AddLog("a.log", line, "a");
  host.AddLog("b.log", line, "b");
  EXPECT_EQ(Launch(host, "duplicate_rank"), "true");
  const std::string dynamic =
      "+ torchrun --nnodes=2 --node_rank=0 --rdzv_backend=c10d --rdzv_endpoint=a:29500 t.py\n";
  FakeHost elastic;
  elastic.AddLog("a.log", dynamic, "a");
  elastic.AddLog("b.log", dynamic, "b");
  EXPECT_EQ(Launch(elastic, "duplicate_rank"), "?");
}

TEST(UserLaunch, NodesThatAreToldDifferentSizesAreSeen) {
  FakeHost host;
  host.AddLog("a.log", "rank=0 world_size=4\n", "a");
  host.AddLog("b.log", "rank=2 world_size=8\n", "b");
  EXPECT_EQ(Launch(host, "world_size_differs"), "true");
}

std::string Loads(int rank, const char* shard, int copies) {
  return absl::StrCat("local_rank=0 rank=", rank, " world_size=", 2 * copies,
                      "\n> initializing model parallel with size 2\n> initializing ddp with size ",
                      copies, "\n['consolidated.00.pth', 'consolidated.01.pth'] found, loading ",
                      "checkpoint /models/13B/", shard, "\n");
}

TEST(UserLaunch, RanksOfADividedModelReadAPartEach) {
  FakeHost same;
  same.AddLog("0.log", Loads(0, "consolidated.00.pth", 1), "a");
  same.AddLog("1.log", Loads(1, "consolidated.00.pth", 1), "b");
  EXPECT_EQ(Launch(same, "same_shard_on_ranks"), "true");
  FakeHost right;
  right.AddLog("0.log", Loads(0, "consolidated.00.pth", 1), "a");
  right.AddLog("1.log", Loads(1, "consolidated.01.pth", 1), "b");
  EXPECT_EQ(Launch(right, "same_shard_on_ranks"), "false");
  // Two copies of the model: ranks 0 and 2 read the same part, rightly.
  FakeHost copies;
  copies.AddLog("0.log", Loads(0, "consolidated.00.pth", 2), "a");
  copies.AddLog("2.log", Loads(2, "consolidated.00.pth", 2), "b");
  EXPECT_EQ(Launch(copies, "same_shard_on_ranks"), "?");
}

}  // namespace
}  // namespace galen::node
