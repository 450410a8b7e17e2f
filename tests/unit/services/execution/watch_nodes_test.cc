#include "services/execution/watch_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace galen::execution {
namespace watch_nodes_test {

using ::testing::HasSubstr;

// A node executor whose watch a test plays.
class FakeNode final : public clients::NodeClient {
 public:
  struct Call {
    clients::OnMessage<node::v1::WatchEvent> on_event;
    absl::AnyInvocable<void(absl::Status) &&> done;
  };
  clients::Cancel RunChecks(const node::v1::RunChecksRequest&, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult>,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    std::move(done)(absl::UnimplementedError(""));
    return clients::NoCancel();
  }
  void Describe(const node::v1::DescribeRequest&, absl::Time,
                clients::Done<node::v1::DescribeResponse> done) override {
    std::move(done)(absl::UnimplementedError(""));
  }
  clients::Cancel Watch(const node::v1::WatchRequest&,
                        clients::OnMessage<node::v1::WatchEvent> on_event,
                        absl::AnyInvocable<void(absl::Status) &&> done) override {
    const std::lock_guard<std::mutex> lock(mu_);
    calls_.push_back(std::make_shared<Call>(Call{std::move(on_event), std::move(done)}));
    changed_.notify_all();
    return [this] {
      const std::lock_guard<std::mutex> held(mu_);
      ++cancelled_;
      changed_.notify_all();
    };
  }
  // Waits for the n-th call, 0 and up.
  std::shared_ptr<Call> Nth(std::size_t n) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return calls_.size() > n; });
    return calls_[n];
  }
  void WaitForCancels(int n) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return cancelled_ >= n; });
  }
  std::size_t calls() {
    const std::lock_guard<std::mutex> lock(mu_);
    return calls_.size();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Call>> calls_;
  int cancelled_ = 0;
};

node::v1::WatchEvent Event(std::int64_t sequence, const std::string& finding = "xid") {
  node::v1::WatchEvent event;
  event.set_check("system.kernel_log");
  event.mutable_finding()->set_name(finding);
  event.set_sequence(sequence);
  return event;
}

struct Ear {
  std::vector<v1::NodeEvent> heard;
  bool room = true;
  NodeWatch::Push push() {
    return [this](v1::NodeEvent event) {
      if (room) heard.push_back(std::move(event));
      return room;
    };
  }
};

class NodeWatchTest : public ::testing::Test {
 protected:
  v1::WatchNodesRequest Request(std::vector<std::string> nodes) {
    v1::WatchNodesRequest request;
    for (const std::string& node : nodes) request.add_nodes(node);
    return request;
  }
  FakeNode a;
  FakeNode b;
  const NodeRegistry registry{{{"a", &a}, {"b", &b}}, {}};
  const SystemClock clock{};
  NodeWatch watch{registry, clock, {absl::Milliseconds(1), absl::Milliseconds(4)}};
};

TEST_F(NodeWatchTest, AnEventOfANodeReachesItsWatcherWithBothTimes) {
  Ear ear;
  ASSERT_TRUE(watch.Watch(Request({"a"}), ear.push()).ok());
  a.Nth(0)->on_event(Event(1));
  ASSERT_EQ(ear.heard.size(), 1u);
  EXPECT_EQ(ear.heard[0].node(), "a");
  EXPECT_EQ(ear.heard[0].check(), "system.kernel_log");
  EXPECT_EQ(ear.heard[0].finding().name(), "xid");
  EXPECT_GT(ear.heard[0].received_at().seconds(), 0);
}

TEST_F(NodeWatchTest, AllNodesAreWatchedWhenNoneIsNamed) {
  Ear ear;
  ASSERT_TRUE(watch.Watch(Request({}), ear.push()).ok());
  a.Nth(0)->on_event(Event(1));
  b.Nth(0)->on_event(Event(1));
  EXPECT_EQ(ear.heard.size(), 2u);
}

TEST_F(NodeWatchTest, AnUnknownNodeIsRefused) {
  Ear ear;
  EXPECT_EQ(watch.Watch(Request({"a", "c"}), ear.push()).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(NodeWatchTest, SeveralWatchersShareOneCall) {
  Ear one;
  Ear two;
  const auto first = watch.Watch(Request({"a"}), one.push());
  const auto second = watch.Watch(Request({"a"}), two.push());
  ASSERT_TRUE(first.ok() && second.ok());
  a.Nth(0)->on_event(Event(1));
  EXPECT_EQ(one.heard.size(), 1u);
  EXPECT_EQ(two.heard.size(), 1u);
  EXPECT_EQ(a.calls(), 1u);
  watch.Leave(*first);
  a.Nth(0)->on_event(Event(2));
  EXPECT_EQ(one.heard.size(), 1u);
  EXPECT_EQ(two.heard.size(), 2u);
  watch.Leave(*second);
  a.WaitForCancels(1);
}

TEST_F(NodeWatchTest, ACallThatEndsIsMadeAgainAndSaidOnce) {
  Ear ear;
  ASSERT_TRUE(watch.Watch(Request({"a"}), ear.push()).ok());
  std::move(a.Nth(0)->done)(absl::UnavailableError("connection refused"));
  std::move(a.Nth(1)->done)(absl::UnavailableError("connection refused"));
  const auto third = a.Nth(2);
  ASSERT_EQ(ear.heard.size(), 1u);
  EXPECT_THAT(ear.heard[0].trouble(), HasSubstr("connection refused"));
  third->on_event(Event(1));
  EXPECT_EQ(ear.heard.back().finding().name(), "xid");
}

TEST_F(NodeWatchTest, AGapInTheNumbersIsToldAsLost) {
  Ear ear;
  ASSERT_TRUE(watch.Watch(Request({"a"}), ear.push()).ok());
  const auto call = a.Nth(0);
  call->on_event(Event(7));
  call->on_event(Event(10));
  ASSERT_EQ(ear.heard.size(), 3u);
  EXPECT_THAT(ear.heard[1].trouble(), HasSubstr("2 events were lost"));
}

TEST_F(NodeWatchTest, ASlowWatcherLosesEventsAndLearnsHowMany) {
  Ear slow;
  Ear quick;
  ASSERT_TRUE(watch.Watch(Request({"a"}), slow.push()).ok());
  ASSERT_TRUE(watch.Watch(Request({"a"}), quick.push()).ok());
  const auto call = a.Nth(0);
  slow.room = false;
  call->on_event(Event(1));
  call->on_event(Event(2));
  slow.room = true;
  call->on_event(Event(3));
  EXPECT_EQ(quick.heard.size(), 3u);
  ASSERT_EQ(slow.heard.size(), 2u);
  EXPECT_THAT(slow.heard[0].trouble(), HasSubstr("2 events were lost"));
  EXPECT_EQ(slow.heard[1].finding().name(), "xid");
}

TEST_F(NodeWatchTest, ANodeSpeaksForNoOther) {
  Ear ear;
  ASSERT_TRUE(watch.Watch(Request({"a"}), ear.push()).ok());
  node::v1::WatchEvent event = Event(1);
  event.mutable_finding()->mutable_subject()->set_node("b");
  a.Nth(0)->on_event(event);
  ASSERT_EQ(ear.heard.size(), 1u);
  EXPECT_FALSE(ear.heard[0].has_finding());
  EXPECT_THAT(ear.heard[0].trouble(), HasSubstr("another node"));
}

}  // namespace watch_nodes_test
}  // namespace galen::execution
