#include "services/execution/node_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeCallsTest : public ::testing::Test {
 protected:
  std::shared_ptr<NodeCalls> Make(NodeCalls::Limits limits) {
    return std::make_shared<NodeCalls>(
        limits, [this] { return now_; },
        [this](const Batch& batch, NodeCalls::Ended ended) {
          begun_.push_back(batch.nodes.front());
          if (at_once_) return ended({});
          open_[batch.nodes.front()] = std::move(ended);
        },
        [this](const Batch& batch) { late_.push_back(batch.nodes.front()); },
        [this] { return full_; });
  }
  static std::deque<Batch> Nodes(int count) {
    std::deque<Batch> batches;
    for (int i = 0; i < count; ++i) batches.push_back({{absl::StrCat("n", i)}, {"c"}, ""});
    return batches;
  }
  void End(const std::string& node, std::vector<Batch> again = {}) {
    NodeCalls::Ended ended = std::move(open_.at(node));
    open_.erase(node);
    ended(std::move(again));
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  bool full_ = false;
  bool at_once_ = false;
  std::vector<std::string> begun_;
  std::vector<std::string> late_;
  std::map<std::string, NodeCalls::Ended> open_;
};

TEST_F(NodeCallsTest, SoManyAreUnderWayAndTheNextBeginsWhenOneEnds) {
  const auto calls = Make({.nodes = 2});
  calls->Begin(Nodes(4));
  EXPECT_THAT(begun_, ElementsAre("n0", "n1"));
  End("n1");
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2"));
  End("n0");
  End("n2");
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2", "n3"));
}

TEST_F(NodeCallsTest, CallsAreCountedAsWellAsTheirNodes) {
  const auto calls = Make({.calls = 2, .nodes = 100});
  calls->Begin(Nodes(4));
  EXPECT_THAT(begun_, ElementsAre("n0", "n1"));
  now_ += absl::Seconds(5);
  calls->Look(now_);
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2", "n3")) << "late ones do not count";
  End("n0");
  End("n3");
}

TEST_F(NodeCallsTest, CallsThatEndBeforeTheyHaveBegunNeedNoStack) {
  at_once_ = true;
  const auto calls = Make({.nodes = 1});
  calls->Begin(Nodes(100000));
  EXPECT_EQ(begun_.size(), 100000u);
}

TEST_F(NodeCallsTest, ABatchThatIsLargerThanTheLimitIsAskedAlone) {
  const auto calls = Make({.nodes = 2});
  calls->Begin({{{"a", "b", "c"}, {"c"}, ""}, {{"d"}, {"c"}, ""}});
  EXPECT_THAT(begun_, ElementsAre("a"));
  End("a");
  EXPECT_THAT(begun_, ElementsAre("a", "d"));
}

TEST_F(NodeCallsTest, WhatIsLateIsToldOnceAndHoldsNobody) {
  const auto calls = Make({.nodes = 1, .late_nodes = 1, .late_after = absl::Seconds(2)});
  calls->Begin(Nodes(3));
  now_ += absl::Seconds(1);
  calls->Look(now_);
  EXPECT_THAT(begun_, ElementsAre("n0"));
  now_ += absl::Seconds(1);
  calls->Look(now_);
  EXPECT_THAT(late_, ElementsAre("n0"));
  EXPECT_THAT(begun_, ElementsAre("n0", "n1"));
  // No more than this many may be late.
  now_ += absl::Seconds(5);
  calls->Look(now_);
  EXPECT_THAT(late_, ElementsAre("n0"));
  EXPECT_THAT(begun_, ElementsAre("n0", "n1"));
  End("n0");
  calls->Look(now_);
  EXPECT_THAT(late_, ElementsAre("n0", "n1"));
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2"));
}

TEST_F(NodeCallsTest, NothingBeginsWhileTheReaderIsBehind) {
  const auto calls = Make({.nodes = 2});
  calls->Begin(Nodes(4));
  full_ = true;
  End("n0");
  End("n1");
  EXPECT_THAT(begun_, ElementsAre("n0", "n1"));
  full_ = false;
  calls->Resume();
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2", "n3"));
}

TEST_F(NodeCallsTest, WhatACallDidNotGiveIsAskedNext) {
  const auto calls = Make({.nodes = 1});
  calls->Begin(Nodes(2));
  End("n0", {{{"n0-again"}, {"c"}, ""}});
  EXPECT_THAT(begun_, ElementsAre("n0", "n0-again"));
}

TEST_F(NodeCallsTest, OnceCancelledAllBeginToBeEnded) {
  full_ = true;
  const auto calls = Make({.nodes = 1});
  calls->Begin(Nodes(3));
  EXPECT_THAT(begun_, IsEmpty());
  calls->Cancel();
  EXPECT_THAT(begun_, ElementsAre("n0", "n1", "n2"));
}

TEST_F(NodeCallsTest, WhatItWasGivenIsGivenUpWithTheLastCall) {
  const auto token = std::make_shared<int>();
  const auto calls = std::make_shared<NodeCalls>(
      NodeCalls::Limits{}, [this] { return now_; },
      [token](const Batch&, const NodeCalls::Ended& ended) { ended({}); }, nullptr);
  EXPECT_GT(token.use_count(), 1);
  calls->Begin(Nodes(2));
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace galen::execution
