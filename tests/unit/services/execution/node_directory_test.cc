#include "services/execution/node_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "services/execution/membership_view.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace roster_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(MembershipView, WhoIsThereIsWhoseTimeIsNotOver) {
  struct Case {
    const char* name;
    const char* record;
    absl::Duration left;
    bool node;
    bool replica;
  };
  const Case cases[] = {
      {"n1", "10.0.0.1:50054", absl::Seconds(1), true, false},
      {"n1", "10.0.0.1:50054", absl::ZeroDuration(), false, false},
      {"n1", "10.0.0.1:50054", -absl::Seconds(1), false, false},
      {"gpu-7.rack_2.example.com", "[fd00::1]:50054", absl::Seconds(1), true, false},
      {"n1", "unix:/tmp/socket", absl::Seconds(1), false, false},
      {"a b", "10.0.0.1:50054", absl::Seconds(1), false, false},
      {"execution/10.0.0.9:50053", "10.0.0.9:50053", absl::Seconds(1), false, true},
      {"execution/10.0.0.9:50053", "10.0.0.9:50053", absl::ZeroDuration(), false, false},
      {"execution/10.0.0.9:50053", "10.0.0.8:50053", absl::Seconds(1), false, false},
  };
  for (const Case& c : cases) {
    const MembershipView view = ViewOf({{c.name, c.record, kNow + c.left}}, kNow);
    EXPECT_EQ(view.nodes.size(), c.node ? 1u : 0u) << c.name << " " << c.record << " " << c.left;
    EXPECT_EQ(view.replicas.size(), c.replica ? 1u : 0u) << c.name << " " << c.record;
  }
}

TEST(MembershipView, ANodeIsAHostNameAtAnAddress) {
  for (const char* address : {"10.0.0.1:1", "host-1.example.com:65535", "[::1]:50054"}) {
    EXPECT_THAT(CheckRegistration("n1", address), IsOk()) << address;
  }
  for (const char* address : {"", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", ":5",
                              "unix:/s:1", "dns:///a:1", "a:b:1", "[::1:1", "[x]:1", "a:-1"}) {
    EXPECT_THAT(CheckRegistration("n1", address),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << address;
  }
  for (const std::string& node : {std::string(), std::string("a/b"), std::string("a\nb"),
                                  std::string("execution/10.0.0.1:1"), std::string(254, 'a')}) {
    EXPECT_THAT(CheckRegistration(node, "10.0.0.1:1"),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << node;
  }
}

TEST(MembershipView, TheTimeToLiveIsBounded) {
  EXPECT_EQ(TimeToLive(absl::ZeroDuration()), absl::Seconds(30));
  EXPECT_EQ(TimeToLive(-absl::Seconds(5)), absl::Seconds(30));
  EXPECT_EQ(TimeToLive(absl::Milliseconds(1)), absl::Seconds(1));
  EXPECT_EQ(TimeToLive(absl::Seconds(12)), absl::Seconds(12));
  EXPECT_EQ(TimeToLive(absl::Hours(24)), absl::Minutes(10));
}

// A table that can be away.
class FlakyTable final : public store::NodeTable {
 public:
  explicit FlakyTable(store::NodeTable& table) : table_(table) {}
  absl::Status Announce(const std::vector<store::NodeEntry>& entries) override {
    if (away) return Away();
    ++writes;
    return table_.Announce(entries);
  }
  absl::Status Withdraw(absl::string_view name) override {
    return away ? Away() : table_.Withdraw(name);
  }
  absl::StatusOr<std::vector<store::NodeEntry>> List(absl::Time now) override {
    if (away) return Away();
    return table_.List(now);
  }
  absl::StatusOr<std::int64_t> Sweep(absl::Time now) override {
    if (away) return Away();
    return table_.Sweep(now);
  }
  std::atomic<bool> away = false;
  std::atomic<int> writes = 0;

 private:
  static absl::Status Away() { return absl::UnavailableError("away"); }
  store::NodeTable& table_;
};

class NodeDirectoryTest : public ::testing::Test {
 protected:
  // A node directory, its notifications, and its view of the mesh.
  struct Replica {
    Replica(NodeDirectoryTest& test, const std::string&)
        : node_directory(
              test.table_, test.clock_,
              {.max_nodes = 3,
               .on_change = [this](const MembershipView& seen, const std::string&) { view = seen; },
               .tell = [this](const std::string& text) { news.push_back(text); }}) {}
    MembershipView view;
    std::vector<std::string> news;
    NodeDirectory node_directory;
  };

  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  FlakyTable table_{store_->nodes()};
  galen::testing::FakeClock clock_;
  Replica a_{*this, "a"};
  Replica b_{*this, "b"};
};

TEST_F(NodeDirectoryTest, ANodeThatRegistersWithOneReplicaIsKnownToAll) {
  const auto again = a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->again_in, absl::Seconds(10));
  ASSERT_THAT(a_.node_directory.Sync(/*read=*/false), IsOk());
  EXPECT_THAT(a_.view.nodes, ElementsAre(Pair("n1", "10.0.0.1:50054")));
  EXPECT_THAT(b_.view.nodes, IsEmpty());
  ASSERT_THAT(b_.node_directory.Sync(/*read=*/true), IsOk());
  EXPECT_THAT(b_.view.nodes, ElementsAre(Pair("n1", "10.0.0.1:50054")));
}

TEST_F(NodeDirectoryTest, ANodeThatSaysNothingMoreIsGoneEverywhereWhenItsTimeIsOver) {
  ASSERT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  clock_.Advance(absl::Seconds(20));
  ASSERT_THAT(b_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(b_.node_directory.Sync(true), IsOk());
  clock_.Advance(absl::Seconds(20));
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_EQ(a_.view.nodes.size(), 1u) << "another replica was told again";
  clock_.Advance(absl::Seconds(11));
  for (Replica* replica : {&a_, &b_}) {
    ASSERT_THAT(replica->node_directory.Sync(true), IsOk());
    EXPECT_THAT(replica->view.nodes, IsEmpty());
  }
}

TEST_F(NodeDirectoryTest, ANodeThatMovesIsAtItsNewAddress) {
  ASSERT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  ASSERT_THAT(b_.node_directory.Register("n1", "10.0.0.2:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(b_.node_directory.Sync(true), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(a_.view.nodes, ElementsAre(Pair("n1", "10.0.0.2:50054")));
  // The old one goes, and takes nothing with it.
  ASSERT_THAT(a_.node_directory.Withdraw("n1", "10.0.0.1:50054"), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(a_.view.nodes, ElementsAre(Pair("n1", "10.0.0.2:50054")));
}

TEST_F(NodeDirectoryTest, ANodeThatWithdrawsIsGoneAtOnceAlsoBeforeItWasWritten) {
  ASSERT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  ASSERT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(a_.node_directory.Withdraw("n1", "10.0.0.1:50054"), IsOk());
  EXPECT_THAT(a_.view.nodes, IsEmpty());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(a_.view.nodes, IsEmpty());
}

TEST_F(NodeDirectoryTest, WhatIsToldAtOnceIsOneWrite) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(
        a_.node_directory.Register(absl::StrCat("n", i), "10.0.0.1:50054", absl::Seconds(30)),
        IsOk());
  }
  ASSERT_THAT(a_.node_directory.Sync(false), IsOk());
  EXPECT_EQ(table_.writes, 1);
  EXPECT_EQ(a_.view.nodes.size(), 3u);
}

TEST_F(NodeDirectoryTest, MoreNodesThanItKeepsAreRefusedAndThoseThatItHasAreNot) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(
        a_.node_directory.Register(absl::StrCat("n", i), "10.0.0.1:50054", absl::Seconds(30)),
        IsOk());
  }
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(a_.node_directory.Register("n3", "10.0.0.1:50054", absl::Seconds(30)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("n3")));
  EXPECT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
}

TEST_F(NodeDirectoryTest, WhileTheStoreIsAwayNobodyIsForgottenAndNodesStillRegister) {
  ASSERT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30)), IsOk());
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  table_.away = true;
  clock_.Advance(absl::Minutes(5));
  ASSERT_THAT(a_.node_directory.Register("n2", "10.0.0.2:50054", absl::Seconds(30)), IsOk());
  EXPECT_THAT(a_.node_directory.Sync(true), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(a_.node_directory.Sync(true), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(a_.view.nodes,
              UnorderedElementsAre(Pair("n1", "10.0.0.1:50054"), Pair("n2", "10.0.0.2:50054")));
  EXPECT_THAT(a_.news, ElementsAre(HasSubstr("those that are known stay"))) << "told once";
  table_.away = false;
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(a_.view.nodes, ElementsAre(Pair("n2", "10.0.0.2:50054"))) << "n1 was silent";
  EXPECT_EQ(a_.news.size(), 2u);
  ASSERT_THAT(b_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(b_.view.nodes, ElementsAre(Pair("n2", "10.0.0.2:50054"))) << "written at last";
}

TEST_F(NodeDirectoryTest, ReplicasFindEachOtherAndOneThatStopsIsGone) {
  a_.node_directory.Start("10.0.0.1:50053");
  b_.node_directory.Start("10.0.0.2:50053");
  const auto replicas = [&] {
    Replica seer{*this, "c"};
    EXPECT_THAT(seer.node_directory.Sync(true), IsOk());
    return seer.view.replicas;
  };
  while (replicas().size() < 2) {
  }
  EXPECT_THAT(replicas(), ElementsAre("10.0.0.1:50053", "10.0.0.2:50053"));
  b_.node_directory.Stop();
  EXPECT_THAT(replicas(), ElementsAre("10.0.0.1:50053"));
}

TEST_F(NodeDirectoryTest, WhoMayBeAnyNodeTakesNoNameThatIsHeldElsewhere) {
  const auto held = a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30));
  ASSERT_THAT(held, IsOk());
  EXPECT_EQ(held->moved_from, "");
  const auto taken = a_.node_directory.Register("n1", "10.0.0.9:50054", absl::Seconds(30), false);
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kAlreadyExists,
                              AllOf(HasSubstr("10.0.0.1:50054"), HasSubstr("10.0.0.9:50054"))));
  // The same address may register again.
  EXPECT_THAT(a_.node_directory.Register("n1", "10.0.0.1:50054", absl::Seconds(30), false), IsOk());
  // A caller proven to be the node may move, and the move is reported.
  const auto moved = a_.node_directory.Register("n1", "10.0.0.2:50054", absl::Seconds(30), true);
  ASSERT_THAT(moved, IsOk());
  EXPECT_EQ(moved->moved_from, "10.0.0.1:50054");
  // The other replica learns it from the store.
  ASSERT_THAT(a_.node_directory.Sync(true), IsOk());
  ASSERT_THAT(b_.node_directory.Sync(true), IsOk());
  EXPECT_THAT(b_.node_directory.Register("n1", "10.0.0.9:50054", absl::Seconds(30), false),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("10.0.0.2:50054")));
  // A node that stopped reporting no longer holds its name.
  clock_.Advance(absl::Seconds(31));
  EXPECT_THAT(b_.node_directory.Register("n1", "10.0.0.9:50054", absl::Seconds(30), false), IsOk());
}

}  // namespace roster_test
}  // namespace galen::execution
