#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/advisor/advisor.h"
#include "services/advisor/retention.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

// Advisors follow the journal and the set of patterns that they share with others.
namespace galen::advisor {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

// Records that something happens to before a value is put.
class WatchedRecords final : public store::Records {
 public:
  explicit WatchedRecords(store::Records& records) : records_(records) {}
  std::function<absl::Status()> before_put;

  absl::StatusOr<std::optional<store::Record>> Get(absl::string_view space,
                                                   absl::string_view key) override {
    return records_.Get(space, key);
  }
  absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                   absl::string_view value, std::int64_t seen) override {
    if (before_put) {
      const absl::Status status = std::exchange(before_put, nullptr)();
      if (!status.ok()) return status;
    }
    return records_.Put(space, key, value, seen);
  }
  absl::Status Remove(absl::string_view space, absl::string_view key, std::int64_t seen) override {
    return records_.Remove(space, key, seen);
  }
  absl::StatusOr<std::vector<store::Record>> List(absl::string_view space, absl::string_view after,
                                                  int limit) override {
    return records_.List(space, after, limit);
  }

 private:
  store::Records& records_;
};

class WatchedStore final : public store::Store {
 public:
  explicit WatchedStore(store::Store& store) : store_(store), records_(store.records()) {}
  WatchedRecords& watched() { return records_; }

  store::EventLog& events() override { return store_.events(); }
  store::WorkQueue& work() override { return store_.work(); }
  store::KeyValue& values() override { return store_.values(); }
  store::RateLimits& rates() override { return store_.rates(); }
  store::NodeTable& nodes() override { return store_.nodes(); }
  store::Journal& journal() override { return store_.journal(); }
  store::Records& records() override { return records_; }
  std::string Describe() const override { return store_.Describe(); }
  bool IsShared() const override { return store_.IsShared(); }
  const std::vector<std::string>& warnings() const override { return store_.warnings(); }

 private:
  store::Store& store_;
  WatchedRecords records_;
};

// Knowledge with these signs, in this order.
std::shared_ptr<const AdvisorKnowledge> WithSigns(const std::vector<std::string>& names) {
  std::string text = "signs:\n";
  for (const std::string& name : names) {
    absl::StrAppend(&text, "  - {name: ", name, ", title: ", name,
                    " grows, resource: memory, check: gpu.memory_test, levels: [1, 2, 3], unit: u, "
                    "source: s}\n");
  }
  return std::make_shared<const AdvisorKnowledge>(AdvisorKnowledge{
      KnownMismatches::Parse("", "").value(), BuildUpSigns::Parse(text, "test.yaml").value()});
}

v1::Run PlainRun() {
  v1::Run run;
  run.mutable_signature()->set_archetype(absl::StrFormat("%032x", 1));
  run.mutable_signature()->set_stack(absl::StrFormat("%032x", 2));
  run.set_context("gpu=X");
  run.set_gpus(8);
  run.set_hours(0.9);
  run.set_ending(v1::Run::COMPLETED);
  return run;
}

// One that was followed to its end with this sign.
v1::Run RunWith(const std::string& sign, int level, bool failed) {
  v1::Run run = PlainRun();
  v1::RunEpisode& episode = *run.add_episodes();
  episode.set_end_hours(0.9);
  v1::SignLevel& seen = *episode.add_signs();
  seen.set_sign(sign);
  seen.set_level(level);
  if (failed) run.set_ending(v1::Run::FAILED);
  return run;
}

class FollowingTest : public ::testing::Test {
 protected:
  std::unique_ptr<Advisor> On(store::Store& store, Advisor::Options options = {}) {
    return std::make_unique<Advisor>(store, knowledge_, clock_, std::move(options));
  }
  static void Report(Advisor& advisor, const std::vector<v1::Run>& runs) {
    v1::ReportRunsRequest request;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      *request.add_runs() = runs[i];
      if (request.runs_size() < 500 && i + 1 < runs.size()) continue;
      ASSERT_THAT(advisor.ReportRuns(request), IsOk());
      request.Clear();
    }
  }
  static void Report(Advisor& advisor, int runs) {
    Report(advisor, std::vector<v1::Run>(static_cast<std::size_t>(runs), PlainRun()));
  }
  std::size_t RecordsLeft() { return store_->journal().Read("advisor-runs", 0, 1'000'000)->size(); }

  testing::FakeClock clock_;
  HotSwap<AdvisorKnowledge> knowledge_{WithSigns({"a", "b"})};
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
};

TEST_F(FollowingTest, WhatCouldNotBeStoredIsLearnedAgainInTheNextRound) {
  WatchedStore watched(*store_);
  const auto advisor = On(watched);
  Report(*advisor, 500);
  watched.watched().before_put = [] { return absl::UnavailableError("away"); };
  EXPECT_THAT(advisor->Follow(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  EXPECT_EQ(advisor->Patterns().version(), 0);
  ASSERT_THAT(advisor->Follow(), IsOk());
  EXPECT_EQ(advisor->Patterns().version(), 1);
  // The same when there is a set already.
  Report(*advisor, 1500);
  watched.watched().before_put = [] { return absl::UnavailableError("away"); };
  EXPECT_THAT(advisor->Follow(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  ASSERT_THAT(advisor->Follow(), IsOk());
  EXPECT_EQ(advisor->Patterns().version(), 2);
  EXPECT_EQ(advisor->Patterns().origin().runs(), 2000);
}

TEST_F(FollowingTest, OfTwoThatStartTogetherBothStart) {
  WatchedStore watched(*store_);
  const auto slow = On(watched);
  const auto fast = On(*store_);
  Report(*slow, 500);
  watched.watched().before_put = [&] {
    Report(*fast, 1);  // so that it learns of more
    return fast->Follow();
  };
  EXPECT_THAT(slow->Follow(), IsOk());
  EXPECT_EQ(fast->Patterns().version(), 1);
  EXPECT_EQ(slow->Patterns().version(), 1);
  EXPECT_EQ(slow->Patterns().origin().runs(), 501);
}

TEST_F(FollowingTest, AfterAStartWhatWasReportedSinceTheLastLearningIsNew) {
  {
    const auto advisor = On(*store_);
    Report(*advisor, 2000);
    ASSERT_THAT(advisor->Follow(), IsOk());
    EXPECT_EQ(advisor->Patterns().version(), 1);
    Report(*advisor, 600);
  }
  {
    const auto advisor = On(*store_);
    ASSERT_THAT(advisor->Follow(), IsOk());
    EXPECT_EQ(advisor->Patterns().version(), 1) << "600 runs are too few";
    Report(*advisor, 600);
  }
  const auto advisor = On(*store_);
  ASSERT_THAT(advisor->Follow(), IsOk());
  EXPECT_EQ(advisor->Patterns().version(), 2);
  EXPECT_EQ(advisor->Patterns().origin().runs(), 3200);
}

TEST_F(FollowingTest, WhatOneAdvisorLearnedTheOtherDoesNotStoreAgain) {
  const auto one = On(*store_);
  const auto other = On(*store_);
  Report(*one, 500);
  ASSERT_THAT(one->Follow(), IsOk());
  ASSERT_THAT(other->Follow(), IsOk());
  Report(*one, 1500);
  ASSERT_THAT(one->Follow(), IsOk());
  ASSERT_THAT(other->Follow(), IsOk());
  ASSERT_THAT(one->Follow(), IsOk());
  EXPECT_EQ(one->Patterns().version(), 2);
  EXPECT_EQ(other->Patterns().version(), 2);
}

TEST_F(FollowingTest, ARunThatNamesASignThatIsGoneLosesTheSignAlone) {
  const auto before = On(*store_);
  Report(*before, {RunWith("b", 1, false), RunWith("a", 1, false)});
  knowledge_.Set(WithSigns({"a"}));
  const auto advisor = On(*store_);
  const auto learned = advisor->Learn();
  ASSERT_THAT(learned, IsOk());
  EXPECT_EQ(learned->runs(), 2);
  EXPECT_EQ(learned->left_out(), 0);
  EXPECT_EQ(learned->unknown_signs(), 1);
  // The reporter gets an error.
  v1::ReportRunsRequest request;
  *request.add_runs() = RunWith("b", 1, false);
  EXPECT_THAT(advisor->ReportRuns(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"b\" is none of")));
}

TEST_F(FollowingTest, SignsKeepWhatWasLearnedOfThemWhenTheyComeToOtherPlaces) {
  const auto advisor = On(*store_);
  std::vector<v1::Run> runs;
  for (int i = 0; i < 2000; ++i) {
    runs.push_back(RunWith("a", i % 2, i % 2 == 1 ? i % 4 == 1 : i % 40 == 0));
    v1::SignLevel& other = *runs.back().mutable_episodes(0)->add_signs();
    other.set_sign("b");
    other.set_level(i % 3 == 0 ? 1 : 0);
  }
  Report(*advisor, runs);
  ASSERT_THAT(advisor->Learn(), IsOk());
  const auto ratio = [&](const std::string& sign) {
    v1::ReportProgressRequest request;
    request.set_job("tenants/t/jobs/j");
    *request.mutable_signature() = PlainRun().signature();
    request.set_context("gpu=X");
    request.set_gpus(8);
    v1::SignLevel& level = *request.add_signs();
    level.set_sign(sign);
    level.set_level(1);
    const auto answer = advisor->ReportProgress(request);
    EXPECT_THAT(answer, IsOk());
    return answer.ok() ? answer->hazard().ratio() : 0;
  };
  const auto build_ups = [&] {
    std::set<std::string> ids;
    const v1::PatternSet set = advisor->Patterns();
    for (const v1::Pattern& pattern : set.patterns()) ids.insert(pattern.id());
    return ids;
  };
  EXPECT_THAT(build_ups(), Contains("build-up-a"));
  EXPECT_THAT(build_ups(), Not(Contains("build-up-b")));
  EXPECT_GT(ratio("a"), 5);
  knowledge_.Set(WithSigns({"b", "a", "c"}));
  EXPECT_GT(ratio("a"), 5);  // also before the next round
  EXPECT_EQ(ratio("b"), 1);
  Report(*advisor, {RunWith("c", 1, false)});
  ASSERT_THAT(advisor->Follow(), IsOk());
  EXPECT_GT(ratio("a"), 5);
  EXPECT_EQ(ratio("b"), 1);
  EXPECT_EQ(ratio("c"), 1);
  ASSERT_THAT(advisor->Learn(), IsOk());
  EXPECT_THAT(build_ups(), Contains("build-up-a"));
  EXPECT_THAT(build_ups(), Not(Contains("build-up-b")));
  EXPECT_EQ(advisor->Patterns().origin().runs(), 2001);
}

TEST_F(FollowingTest, WhatIsTakenOutOfUseNeverOutgrowsTheStore) {
  const auto advisor = On(*store_);
  std::vector<v1::Run> runs;
  for (int node = 0; node < 350; ++node) {
    for (int i = 0; i < 25; ++i) {
      if (node < 150 && i == 5) break;  // 150 that always fail
      runs.push_back(PlainRun());
      runs.back().add_nodes(absl::StrFormat("n%03d", node));
      if (node >= 150) continue;
      runs.back().set_ending(v1::Run::FAILED);
      runs.back().set_node(runs.back().nodes(0));
    }
  }
  Report(*advisor, runs);
  ASSERT_THAT(advisor->Learn(), IsOk());
  v1::RevokePatternRequest revoke;
  revoke.set_by(std::string(500, 'b'));
  revoke.set_why(std::string(4096, 'w'));
  absl::Status status;
  int revoked = 0;
  while (status.ok() && revoked < 150) {
    revoke.set_id(absl::StrFormat("lemon-n%03d", revoked));
    status = advisor->Revoke(revoke).status();
    revoked += status.ok() ? 1 : 0;
  }
  EXPECT_GT(revoked, 50);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("restore some")));
  ASSERT_THAT(advisor->Learn(), IsOk());
  EXPECT_GE(advisor->Patterns().patterns_size(), 150);
  v1::RestorePatternRequest restore;
  restore.set_id("lemon-n000");
  restore.set_by("ann");
  ASSERT_THAT(advisor->Restore(restore), IsOk());
  EXPECT_THAT(advisor->Revoke(revoke), IsOk());
}

TEST_F(FollowingTest, TheJournalIsTruncatedByRunsAndByBytes) {
  for (const bool by_bytes : {false, true}) {
    Advisor::Options options;
    v1::ReportRunsRequest request;
    for (int i = 0; i < 10; ++i) *request.add_runs() = PlainRun();
    (by_bytes ? options.keep_bytes : options.keep_runs) =
        by_bytes ? static_cast<std::int64_t>(10 * request.ByteSizeLong()) : 100;
    const auto advisor = On(*store_, options);
    for (int i = 0; i < 40; ++i) ASSERT_THAT(advisor->ReportRuns(request), IsOk());
    EXPECT_GE(RecordsLeft(), 40u) << "none is cut before it was read";
    ASSERT_THAT(advisor->Follow(), IsOk());
    EXPECT_THAT(RecordsLeft(), ::testing::AllOf(Ge(9u), Le(10u)));
  }
}

TEST_F(FollowingTest, ACallOfMoreBytesThanAreReadAtOnceIsRefused) {
  const auto advisor = On(*store_);
  v1::Run run = PlainRun();
  for (int i = 0; i < 4000; ++i) run.add_nodes(absl::StrCat(i, std::string(240, 'n')));
  v1::ReportRunsRequest request;
  *request.add_runs() = run;
  EXPECT_THAT(advisor->ReportRuns(request), IsOk());
  for (int i = 0; i < 4; ++i) *request.add_runs() = run;
  EXPECT_THAT(advisor->ReportRuns(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 MiB")));
}

TEST_F(FollowingTest, AContextThatRunsCouldNotBeReportedWithIsRefusedWhereItIsMade) {
  const auto advisor = On(*store_);
  v1::RegisterJobRequest request;
  *request.mutable_signature() = PlainRun().signature();
  request.mutable_hardware()->set_gpu("X");
  for (int i = 0; i < 32; ++i) {
    (*request.mutable_hardware()->mutable_settings())[absl::StrCat("s", i)] = std::string(100, 'v');
  }
  const auto answer = advisor->RegisterJob(request);
  ASSERT_THAT(answer, IsOk());
  v1::Run run = PlainRun();
  run.set_context(answer->context());
  Report(*advisor, {run});
  for (auto& [name, value] : *request.mutable_hardware()->mutable_settings()) {
    value = std::string(128, 'v');
  }
  EXPECT_THAT(advisor->RegisterJob(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4,096")));
}

TEST(Retention, CountsWhatIsKeptAndRemembersLittle) {
  Retention retention({1'000'000, 1000, 1'000'000});
  std::int64_t position = 0;
  for (; position < 10; ++position) retention.Add(position + 1, 100, 10);
  EXPECT_EQ(retention.trim(), 0);
  retention.Add(++position, 100, 10);
  EXPECT_EQ(retention.trim(), 1);
  retention.Add(++position, 1000, 10);
  EXPECT_EQ(retention.trim(), 11);
  // An entry that is too large alone is kept all the same: it is the newest.
  retention.Add(++position, 100'000, 10);
  EXPECT_EQ(retention.trim(), 12);
}

}  // namespace
}  // namespace galen::advisor
