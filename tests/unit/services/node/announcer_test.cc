#include "services/node/announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;

TEST(NextAnnouncement, ComesWithinTheTimeThatExecutionSaid) {
  const absl::StatusOr<absl::Duration> told = absl::Seconds(10);
  EXPECT_EQ(NextAnnouncement(told, 0, 0.0), absl::Seconds(7.5));
  EXPECT_LT(NextAnnouncement(told, 0, 0.999), absl::Seconds(10));
  EXPECT_GE(NextAnnouncement(absl::ZeroDuration(), 0, 0.0), absl::Milliseconds(75));
  EXPECT_LE(NextAnnouncement(absl::InfiniteDuration(), 0, 0.999), absl::Minutes(10));
}

TEST(NextAnnouncement, BacksOffWithEachFailure) {
  const absl::StatusOr<absl::Duration> failed = absl::UnavailableError("");
  EXPECT_EQ(NextAnnouncement(failed, 1, 0.0), absl::Milliseconds(125));
  EXPECT_EQ(NextAnnouncement(failed, 2, 0.0), absl::Milliseconds(250));
  EXPECT_EQ(NextAnnouncement(failed, 3, 0.0), absl::Milliseconds(500));
  EXPECT_EQ(NextAnnouncement(failed, 1000, 0.0), absl::Seconds(7.5));
}

// A replica of execution that takes registrations, or does not.
class FakeReplica final : public clients::RegistrationClient {
 public:
  explicit FakeReplica(bool there) : there_(there) {}
  void RegisterNode(const execution::v1::RegisterNodeRequest& request, absl::Time,
                    clients::Done<execution::v1::RegisterNodeResponse> done) override {
    {
      MutexLock lock(mu_);
      said_.push_back(request.node() + " at " + request.address());
      changed_.notify_all();
    }
    if (!there_) return std::move(done)(absl::UnavailableError("nobody there"));
    execution::v1::RegisterNodeResponse response;
    response.mutable_again_in()->set_nanos(100'000'000);
    std::move(done)(response);
  }
  void WithdrawNode(const execution::v1::WithdrawNodeRequest& request, absl::Time,
                    clients::Done<execution::v1::WithdrawNodeResponse> done) override {
    {
      MutexLock lock(mu_);
      gone_.push_back(request.node());
    }
    std::move(done)(execution::v1::WithdrawNodeResponse());
  }
  void AwaitCalls(std::size_t count) {
    MutexLock lock(mu_);
    while (said_.size() < count) mu_.Wait(changed_);
  }
  std::vector<std::string> said() {
    MutexLock lock(mu_);
    return said_;
  }
  std::vector<std::string> gone() {
    MutexLock lock(mu_);
    return gone_;
  }

 private:
  const bool there_;
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<std::string> said_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> gone_ ABSL_GUARDED_BY(mu_);
};

TEST(Announcer, TellsOneReplicaAgainAndAgainAndWithdrawsThere) {
  FakeReplica first(true);
  FakeReplica second(true);
  Announcer announcer({&first, &second}, {.node = "n1"});
  announcer.Start("10.0.0.1:50054");
  first.AwaitCalls(3);
  announcer.Stop();
  EXPECT_EQ(first.said().front(), "n1 at 10.0.0.1:50054");
  EXPECT_TRUE(second.said().empty());
  EXPECT_THAT(first.gone(), ElementsAre("n1"));
}

TEST(Announcer, GoesToTheNextReplicaWhenOneDoesNotAnswer) {
  FakeReplica dead(false);
  FakeReplica alive(true);
  Announcer announcer({&dead, &alive}, {.node = "n1"});
  announcer.Start("10.0.0.1:50054");
  alive.AwaitCalls(2);
  announcer.Stop();
  EXPECT_EQ(dead.said().size(), 1u);
  EXPECT_THAT(alive.gone(), ElementsAre("n1"));
}

TEST(Announcer, OneThatWasNeverRegisteredWithdrawsNothing) {
  FakeReplica dead(false);
  Announcer announcer({&dead}, {.node = "n1"});
  announcer.Start("10.0.0.1:50054");
  dead.AwaitCalls(1);
  announcer.Stop();
  EXPECT_TRUE(dead.gone().empty());
}

}  // namespace
}  // namespace galen::node
