#include "services/advisor/confirmations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "galen/advisor/v1/advisor.pb.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using Stage = Confirmation::Stage;

// Asks for a check of a job that none was asked of; whether that was so.
absl::StatusOr<bool> AskFor(Confirmations& confirmations, const std::string& job, absl::Time now) {
  bool asked = false;
  const absl::Status status = confirmations.Change(job, [&](Confirmation& confirmation) {
    asked = confirmation.stage == Stage::kQuiet;
    if (asked) confirmation = {Stage::kTesting, "gpu.memory_test", now, 0.25};
    return asked;
  });
  if (!status.ok()) return status;
  return asked;
}

Confirmation Of(Confirmations& confirmations, const std::string& job) {
  Confirmation found;
  EXPECT_THAT(confirmations.Change(job,
                                   [&](Confirmation& confirmation) {
                                     found = confirmation;
                                     return false;
                                   }),
              IsOk());
  return found;
}

std::size_t KeptIn(store::Store& store) {
  std::size_t kept = 0;
  std::string after;
  for (;;) {
    const auto page = store.records().List("advisor-confirmations", after, 500).value();
    if (page.empty()) return kept;
    for (const store::Record& record : page) {
      v1::ConfirmationSet set;
      EXPECT_TRUE(set.ParseFromString(record.value));
      kept += static_cast<std::size_t>(set.jobs_size());
      after = record.key;
    }
  }
}

class ConfirmationsTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
};

// First: the child is a copy of a process that has no threads yet.
TEST(ConfirmationsAcrossKills, ACheckIsNotAskedForTwice) {
  std::string scratch = absl::StrCat(::testing::TempDir(), "confirmations-XXXXXX");
  ASSERT_NE(::mkdtemp(scratch.data()), nullptr);
  const std::string file = absl::StrCat(scratch, "/advisor.sqlite");
  testing::FakeClock clock;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = store::OpenStore(file);
    if (!store.ok()) ::_exit(1);
    Confirmations confirmations((*store)->records(), clock, 1000);
    const auto asked = AskFor(confirmations, "tenants/t/jobs/j", clock.Now());
    const char told = asked.ok() && *asked ? 'y' : 'n';
    if (::write(ready[1], &told, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  ::close(ready[1]);
  char told = 0;
  EXPECT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  ::close(ready[0]);
  const auto store = store::OpenStore(file);
  ASSERT_THAT(store, IsOk());
  Confirmations confirmations((*store)->records(), clock, 1000);
  EXPECT_FALSE(AskFor(confirmations, "tenants/t/jobs/j", clock.Now()).value());
  EXPECT_TRUE(AskFor(confirmations, "tenants/t/jobs/another", clock.Now()).value());
}

TEST_F(ConfirmationsTest, AreGivenBackAsTheyWereKept) {
  Confirmations confirmations(store_->records(), clock_, 1000);
  EXPECT_EQ(Of(confirmations, "tenants/t/jobs/j").stage, Stage::kQuiet);
  const absl::Time since = clock_.Now() + absl::Nanoseconds(123'456'789);
  for (const Stage stage :
       {Stage::kTesting, Stage::kConfirmed, Stage::kRefuted, Stage::kUntested}) {
    ASSERT_THAT(confirmations.Change("tenants/t/jobs/j",
                                     [&](Confirmation& confirmation) {
                                       confirmation = {stage, "rdma.loopback", since, 0.125};
                                       return true;
                                     }),
                IsOk());
    const Confirmation found = Of(confirmations, "tenants/t/jobs/j");
    EXPECT_EQ(found.stage, stage);
    EXPECT_EQ(found.check, "rdma.loopback");
    EXPECT_EQ(found.since, since);
    EXPECT_EQ(found.probability, 0.125);
  }
  EXPECT_EQ(KeptIn(*store_), 1u);
}

TEST_F(ConfirmationsTest, AreOfABoundedNumberOfJobsAndTheNewestAreKept) {
  constexpr std::size_t kBuckets = Confirmations::kBuckets;
  Confirmations confirmations(store_->records(), clock_, kBuckets);
  std::string last;
  for (std::size_t i = 0; i < 3 * kBuckets; ++i) {
    last = absl::StrCat("tenants/t/jobs/", i);
    clock_.Advance(absl::Seconds(1));
    ASSERT_TRUE(AskFor(confirmations, last, clock_.Now()).value());
  }
  EXPECT_LE(KeptIn(*store_), kBuckets);
  EXPECT_EQ(Of(confirmations, last).stage, Stage::kTesting);
  EXPECT_EQ(Of(confirmations, "tenants/t/jobs/0").stage, Stage::kQuiet);
}

TEST_F(ConfirmationsTest, OfJobsLongGoneAreForgottenWhenAnotherOneIsWritten) {
  Confirmations confirmations(store_->records(), clock_, 1 << 20);
  std::vector<std::string> jobs;
  for (int i = 0; i < 5000; ++i) jobs.push_back(absl::StrCat("tenants/t/jobs/", i));
  for (const std::string& job : jobs) {
    ASSERT_TRUE(AskFor(confirmations, job, clock_.Now()).value());
  }
  EXPECT_EQ(KeptIn(*store_), 5000u);
  clock_.Advance(Confirmations::kKeep + absl::Hours(1));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(
        AskFor(confirmations, absl::StrCat("tenants/t/jobs/new-", i), clock_.Now()).value());
  }
  EXPECT_LT(KeptIn(*store_), 7500u);
}

TEST_F(ConfirmationsTest, WhoIsSlowerDecidesAnewByWhatStandsThere) {
  Confirmations one(store_->records(), clock_, 1000);
  Confirmations other(store_->records(), clock_, 1000);
  int calls = 0;
  bool asked = false;
  ASSERT_THAT(one.Change("tenants/t/jobs/j",
                         [&](Confirmation& confirmation) {
                           // While it decides, another advisor asks for the check.
                           if (++calls == 1) {
                             EXPECT_TRUE(AskFor(other, "tenants/t/jobs/j", clock_.Now()).value());
                           }
                           asked = confirmation.stage == Stage::kQuiet;
                           if (asked) confirmation.stage = Stage::kTesting;
                           return asked;
                         }),
              IsOk());
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(asked);
}

TEST_F(ConfirmationsTest, ADamagedRecordIsSaidAndNotOverwritten) {
  Confirmations confirmations(store_->records(), clock_, 1000);
  ASSERT_TRUE(AskFor(confirmations, "tenants/t/jobs/j", clock_.Now()).value());
  const auto kept = store_->records().List("advisor-confirmations", "", 2).value();
  ASSERT_EQ(kept.size(), 1u);
  ASSERT_THAT(
      store_->records().Put("advisor-confirmations", kept[0].key, "\xff\xff", kept[0].version),
      IsOk());
  EXPECT_THAT(AskFor(confirmations, "tenants/t/jobs/j", clock_.Now()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
}

}  // namespace
}  // namespace galen::advisor
