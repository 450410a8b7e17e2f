#include "services/advisor/advisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/advisor/made_up_fleet.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace {

using ::galen::testing::FleetShape;
using ::galen::testing::IsOk;
using ::galen::testing::MadeUpFleet;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::shared_ptr<const AdvisorKnowledge>& ShippedKnowledge() {
  static const auto knowledge = new absl::StatusOr<std::shared_ptr<const AdvisorKnowledge>>(
      AdvisorKnowledge::Load({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_TRUE(knowledge->ok()) << knowledge->status();
  return **knowledge;
}

v1::Run RunOf(const RunRecord& run, const std::string& context) {
  v1::Run to;
  to.mutable_signature()->set_archetype(run.archetype);
  to.mutable_signature()->set_stack(run.stack);
  to.set_context(context);
  to.mutable_start_time()->set_seconds(absl::ToUnixSeconds(run.start));
  to.set_gpus(run.gpus);
  to.set_planned_hours(run.planned_hours);
  to.set_hours(run.hours);
  to.set_ending(static_cast<v1::Run::Ending>(static_cast<int>(run.ending) + 1));
  to.set_node(run.node);
  for (const std::string& node : run.nodes) to.add_nodes(node);
  for (const Episode& episode : run.episodes) {
    v1::RunEpisode& into = *to.add_episodes();
    into.set_begin_hours(episode.begin);
    into.set_end_hours(episode.end);
    for (std::size_t i = 0; i < kMostSigns; ++i) {
      if (episode.signs[i] == 0) continue;
      v1::SignLevel& level = *into.add_signs();
      level.set_sign(ShippedKnowledge()->signs.all()[i].name);
      level.set_level(episode.signs[i]);
    }
  }
  return to;
}

class AdvisorTest : public ::testing::Test {
 protected:
  // The machines of the synthetic context `i`, and their names in the advisor.
  static v1::Hardware HardwareOf(std::size_t i) {
    v1::Hardware hardware;
    hardware.set_gpu(absl::StrCat("G", i));
    return hardware;
  }
  static std::string ContextOf(std::size_t i) {
    return absl::StrCat("gpu=G", i, " nic=none driver=unknown gpus=0 clocks=unknown power=unknown");
  }
  // The fleet's runs, as the provider reports them.
  void Report(Advisor& advisor, int runs) {
    v1::ReportRunsRequest request;
    for (int i = 0; i < runs; ++i) {
      const RunRecord run = fleet_.Next();
      for (std::size_t c = 0; c < shape_.contexts; ++c) {
        if (run.context == MadeUpFleet::Context(c)) *request.add_runs() = RunOf(run, ContextOf(c));
      }
      if (request.runs_size() < 1000 && i + 1 < runs) continue;
      ASSERT_THAT(advisor.ReportRuns(request), IsOk());
      request.Clear();
    }
  }
  std::unique_ptr<Advisor> NewAdvisor() {
    return std::make_unique<Advisor>(*store_, HotSwap<AdvisorKnowledge>(ShippedKnowledge()), clock_,
                                     Advisor::Options());
  }
  v1::RegisterJobRequest PlantedJob() const {
    const MadeUpFleet::Planted& planted = fleet_.mismatches().front();
    v1::RegisterJobRequest request;
    request.set_parent("tenants/t");
    request.mutable_signature()->set_archetype(MadeUpFleet::Archetype(planted.archetype));
    request.mutable_signature()->set_stack(
        MadeUpFleet::Stack(planted.archetype * shape_.stacks + planted.stack));
    *request.mutable_hardware() = HardwareOf(planted.context);
    return request;
  }
  v1::ReportProgressRequest Progress(const std::string& job, int level) const {
    v1::ReportProgressRequest request;
    request.set_job(job);
    *request.mutable_signature() = PlantedJob().signature();
    request.set_hours(10);
    v1::SignLevel& sign = *request.add_signs();
    sign.set_sign(ShippedKnowledge()->signs.all()[*fleet_.build_ups().begin()].name);
    sign.set_level(level);
    return request;
  }

  const FleetShape shape_ = [] {
    FleetShape shape;
    shape.mismatches = 1;
    shape.mismatch_factor = 12;
    shape.build_ups = 1;
    return shape;
  }();
  MadeUpFleet fleet_{shape_, 3};
  testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
};

TEST_F(AdvisorTest, WarnsAtTheStartOfAJobOfWhatIsKnownAndOfNothingElse) {
  const auto advisor = NewAdvisor();
  ASSERT_THAT(advisor->Follow(), IsOk());
  v1::RegisterJobRequest request = PlantedJob();
  auto answer = advisor->RegisterJob(request);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->warnings(), IsEmpty());
  request.mutable_hardware()->set_gpu("NVIDIA A100-SXM4-80GB");
  request.add_needs("fp8");
  answer = advisor->RegisterJob(request);
  ASSERT_THAT(answer, IsOk());
  ASSERT_EQ(answer->warnings_size(), 1);
  EXPECT_EQ(answer->warnings(0).name(), "fp8_without_units");
  EXPECT_EQ(answer->warnings(0).severity(), v1::Warning::ERROR);
  EXPECT_NE(answer->warnings(0).source(), "");
}

TEST_F(AdvisorTest, WarnsOfWhatRecordedRunsTaughtAndSaysHowManyTheyWere) {
  const auto advisor = NewAdvisor();
  Report(*advisor, 40'000);
  ASSERT_THAT(advisor->Learn(), IsOk());
  const auto answer = advisor->RegisterJob(PlantedJob());
  ASSERT_THAT(answer, IsOk());
  ASSERT_EQ(answer->warnings_size(), 1);
  EXPECT_EQ(answer->warnings(0).kind(), v1::Warning::LEARNED);
  EXPECT_THAT(answer->warnings(0).source(), HasSubstr("40000 recorded runs"));
  const v1::PatternSet set = advisor->Patterns();
  EXPECT_GT(set.patterns_size(), 0);
  for (const v1::Pattern& pattern : set.patterns()) {
    EXPECT_EQ(pattern.origin().runs(), 40'000);
    EXPECT_EQ(pattern.origin().first_position(), 1);
    EXPECT_EQ(pattern.origin().last_position(), 40);
  }
  // Elsewhere the same job is not warned of.
  v1::RegisterJobRequest elsewhere = PlantedJob();
  *elsewhere.mutable_hardware() =
      HardwareOf((fleet_.mismatches().front().context + 1) % shape_.contexts);
  EXPECT_THAT(advisor->RegisterJob(elsewhere)->warnings(), IsEmpty());
}

TEST_F(AdvisorTest, ARevokedPatternWarnsNobodyUntilItIsRestoredHoweverOftenItIsLearned) {
  const auto advisor = NewAdvisor();
  Report(*advisor, 40'000);
  ASSERT_THAT(advisor->Learn(), IsOk());
  const std::string id = advisor->RegisterJob(PlantedJob())->warnings(0).name();
  v1::RevokePatternRequest revoke;
  revoke.set_id(id);
  EXPECT_THAT(advisor->Revoke(revoke),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("why")));
  revoke.set_by("ann");
  revoke.set_why("the switch was replaced");
  ASSERT_THAT(advisor->Revoke(revoke), IsOk());
  EXPECT_THAT(advisor->RegisterJob(PlantedJob())->warnings(), IsEmpty());
  ASSERT_THAT(advisor->Learn(), IsOk());
  EXPECT_THAT(advisor->RegisterJob(PlantedJob())->warnings(), IsEmpty());
  // Another advisor of the same store knows it, too.
  const auto other = NewAdvisor();
  ASSERT_THAT(other->Follow(), IsOk());
  EXPECT_THAT(other->RegisterJob(PlantedJob())->warnings(), IsEmpty());
  v1::RestorePatternRequest restore;
  restore.set_id(id);
  restore.set_by("ann");
  ASSERT_THAT(advisor->Restore(restore), IsOk());
  EXPECT_EQ(advisor->RegisterJob(PlantedJob())->warnings_size(), 1);
  ASSERT_THAT(other->Follow(), IsOk());
  EXPECT_EQ(other->RegisterJob(PlantedJob())->warnings_size(), 1);
  revoke.set_id("mismatch-that-is-none");
  EXPECT_THAT(advisor->Revoke(revoke), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such")));
}

TEST_F(AdvisorTest, WhatWasLearnedOutlivesTheProgram) {
  {
    const auto advisor = NewAdvisor();
    Report(*advisor, 40'000);
    ASSERT_THAT(advisor->Learn(), IsOk());
  }
  const auto advisor = NewAdvisor();
  ASSERT_THAT(advisor->Follow(), IsOk());
  EXPECT_EQ(advisor->RegisterJob(PlantedJob())->warnings_size(), 1);
  EXPECT_TRUE(advisor->ReportProgress(Progress("tenants/t/jobs/j", 1))->hazard().known());
}

TEST_F(AdvisorTest, NobodyIsAlarmedBeforeTheCheckThatWasAskedForFailed) {
  const auto advisor = NewAdvisor();
  Report(*advisor, 40'000);
  ASSERT_THAT(advisor->Learn(), IsOk());
  const std::string job = "tenants/t/jobs/j";
  auto calm = advisor->ReportProgress(Progress(job, 0));
  ASSERT_THAT(calm, IsOk());
  EXPECT_TRUE(calm->hazard().known());
  EXPECT_EQ(calm->check(), "");
  v1::ReportTestRequest test;
  test.set_job(job);
  test.set_outcome(v1::ReportTestRequest::FAILED);
  test.set_check("gpu.memory_test");
  EXPECT_THAT(advisor->ReportTest(test),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no check")));
  const auto grave = advisor->ReportProgress(Progress(job, 3));
  ASSERT_THAT(grave, IsOk());
  EXPECT_GT(grave->hazard().probability(), 5 * calm->hazard().probability());
  ASSERT_NE(grave->check(), "");
  test.set_check("another.check");
  EXPECT_FALSE(advisor->ReportTest(test)->alarm());
  test.set_check(grave->check());
  EXPECT_TRUE(advisor->ReportTest(test)->alarm());
}

TEST_F(AdvisorTest, ACheckIsAskedForOnceThoughTheAdvisorIsAnotherOne) {
  const std::string job = "tenants/t/jobs/j";
  std::string check;
  {
    const auto advisor = NewAdvisor();
    Report(*advisor, 40'000);
    ASSERT_THAT(advisor->Learn(), IsOk());
    check = advisor->ReportProgress(Progress(job, 3))->check();
    ASSERT_NE(check, "");
  }
  const auto advisor = NewAdvisor();
  ASSERT_THAT(advisor->Follow(), IsOk());
  const auto again = advisor->ReportProgress(Progress(job, 3));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->hazard().known());
  EXPECT_EQ(again->check(), "");
  // Another job is asked of, and the answer for the first one finds its way.
  EXPECT_EQ(advisor->ReportProgress(Progress("tenants/t/jobs/k", 3))->check(), check);
  v1::ReportTestRequest test;
  test.set_job(job);
  test.set_outcome(v1::ReportTestRequest::FAILED);
  test.set_check(check);
  EXPECT_TRUE(advisor->ReportTest(test)->alarm());
  EXPECT_FALSE(NewAdvisor()->ReportTest(test)->alarm());
}

TEST_F(AdvisorTest, BeforeAnythingIsLearnedTheHazardIsUnknownAndNotZero) {
  const auto advisor = NewAdvisor();
  const auto answer = advisor->ReportProgress(Progress("tenants/t/jobs/j", 3));
  ASSERT_THAT(answer, IsOk());
  EXPECT_FALSE(answer->hazard().known());
  EXPECT_NE(answer->hazard().why(), "");
  EXPECT_EQ(answer->check(), "");
}

TEST_F(AdvisorTest, TakesAllRunsOfACallOrNone) {
  const auto advisor = NewAdvisor();
  v1::ReportRunsRequest request;
  *request.add_runs() = RunOf(fleet_.Next(), ContextOf(0));
  *request.add_runs() = RunOf(fleet_.Next(), ContextOf(0));
  request.mutable_runs(1)->set_gpus(-1);
  EXPECT_THAT(advisor->ReportRuns(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("runs[1]: gpus -1")));
  EXPECT_THAT(advisor->ReportRuns({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1,000")));
  ASSERT_THAT(advisor->Learn(), IsOk());
  EXPECT_EQ(advisor->Learn()->runs(), 0);
}

TEST_F(AdvisorTest, RefusesWhatCannotBeUsedAndSaysWhich) {
  const auto advisor = NewAdvisor();
  const auto refuse = [&](auto change, const char* why) {
    v1::RegisterJobRequest request = PlantedJob();
    change(request);
    EXPECT_THAT(advisor->RegisterJob(request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refuse([](auto& r) { r.mutable_signature()->set_stack("torch 2.3"); }, "hexadecimal");
  refuse([](auto& r) { r.add_needs("acme_kernel"); }, "acme_kernel");
  refuse([](auto& r) { r.mutable_hardware()->clear_gpu(); }, "gpu");
  refuse([](auto& r) { r.add_conditions(std::string(65, 'x')); }, "64 bytes");
  refuse(
      [](auto& r) {
        for (int i = 0; i < 40; ++i) r.add_needs("fp8");
      },
      "at most 32");
  v1::ReportProgressRequest progress = Progress("tenants/t/jobs/j", 1);
  progress.mutable_signs(0)->set_level(9);
  EXPECT_THAT(advisor->ReportProgress(progress),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 to 3")));
  progress = Progress("j", 1);
  EXPECT_THAT(advisor->ReportProgress(progress),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("job:")));
}

}  // namespace
}  // namespace galen::advisor
