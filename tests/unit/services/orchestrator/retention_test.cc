// Diagnoses are deleted when their time is over, and only then.
#include "services/orchestrator/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "common/observability/metrics/registry.h"
#include "common/observability/trace/trace.h"
#include "services/orchestrator/load_state.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/orchestrator_fixture.h"

namespace galen::orchestrator {
namespace retention_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseRetention, TakesTimesOfAllAndOfSingleTenants) {
  const auto policy = ParseRetention({"90d", "acme=36h", "globex=forever"});
  ASSERT_THAT(policy, IsOk());
  EXPECT_EQ(policy->KeepFor("other"), absl::Hours(24 * 90));
  EXPECT_EQ(policy->KeepFor("acme"), absl::Hours(36));
  EXPECT_EQ(policy->KeepFor("globex"), absl::InfiniteDuration());
  EXPECT_FALSE(policy->IsOff());
  EXPECT_TRUE(ParseRetention({})->IsOff());
  EXPECT_TRUE(ParseRetention({"forever", "acme=forever"})->IsOff());
  EXPECT_FALSE(ParseRetention({"acme=2d"})->IsOff());
}

TEST(ParseRetention, RefusesWhatItDoesNotUnderstand) {
  for (const char* entry : {"90", "d", "-1d", "0d", "0h", "1w", "acme", "acme=", "=1d", "A=1d",
                            "a/b=1d", "99999999999d", "1.5d", "90 d"}) {
    EXPECT_THAT(ParseRetention({entry}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(entry)));
  }
  EXPECT_FALSE(ParseRetention({"1d", "2d"}).ok());
  EXPECT_FALSE(ParseRetention({"acme=1d", "acme=2d"}).ok());
}

class RetentionTest : public OrchestratorTest {
 protected:
  Retention Make(const std::vector<std::string>& entries, bool waiting = false) {
    RetentionPolicy policy = ParseRetention(entries).value();
    policy.waiting = waiting;
    return {*log_, clock_, policy, [this](const std::string& name, MayDelete may) {
              return orchestrator_->DeleteByRetention(name, may);
            }};
  }
  static std::int64_t Deleted(Retention& retention, std::int64_t most = 100) {
    const absl::StatusOr<Retention::Pass> pass = retention.Run(most);
    EXPECT_THAT(pass, IsOk());
    return pass.ok() ? pass->deleted : -1;
  }
  absl::Status StatusOf(const std::string& name) {
    v1::GetDiagnosisRequest request;
    request.set_name(name);
    return orchestrator_->Get(request).status();
  }
  absl::Status Delete(const std::string& name) {
    v1::DeleteDiagnosisRequest request;
    request.set_name(name);
    return orchestrator_->Delete(request).status();
  }
  std::string Metrics() {
    metrics::Registry registry;
    registry.Add(orchestrator_->metrics());
    return registry.Text();
  }
  void CreateOf(const std::string& tenant) {
    v1::CreateDiagnosisRequest request = CreateRequest();
    request.set_parent("tenants/" + tenant);
    ASSERT_THAT(orchestrator_->Create(request), IsOk());
    executor_.RunAll();
  }
};

TEST_F(RetentionTest, DeletesWhatIsOverAndOlderThanItIsKept) {
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  Retention retention = Make({"2d"});
  clock_.Advance(absl::Hours(47));
  EXPECT_EQ(Deleted(retention), 0);
  EXPECT_THAT(StatusOf(kName), IsOk());
  clock_.Advance(absl::Hours(2));
  EXPECT_EQ(Deleted(retention), 1);
  EXPECT_EQ(Deleted(retention), 0);
  EXPECT_THAT(StatusOf(kName), StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
  v1::ListDiagnosesRequest list;
  list.set_parent("tenants/t");
  EXPECT_EQ(orchestrator_->List(list)->diagnoses_size(), 0);
  EXPECT_THAT(Metrics(), HasSubstr("galen_diagnoses_deleted_total{by=\"retention\"} 1"));
}

TEST_F(RetentionTest, GoesByTheLastEventNotByTheFirst) {
  Create();
  executor_.RunAll();
  Retention retention = Make({"2d"});
  clock_.Advance(absl::Hours(40));
  v1::SubmitFeedbackRequest confirmation;
  confirmation.set_name(kName);
  confirmation.set_confirmed_label("A.B.OTHER");
  confirmation.set_confirmed_by("ada");
  ASSERT_THAT(orchestrator_->SubmitFeedback(confirmation), IsOk());
  executor_.RunAll();
  clock_.Advance(absl::Hours(20));
  EXPECT_EQ(Deleted(retention), 0);
  EXPECT_THAT(StatusOf(kName), IsOk());
  clock_.Advance(absl::Hours(30));
  EXPECT_EQ(Deleted(retention), 1);
}

TEST_F(RetentionTest, KeepsWhatRunsWhateverItsAge) {
  world_.silent.insert("Summarize");
  Create();
  executor_.RunAll();
  Retention retention = Make({"1h"}, /*waiting=*/true);
  clock_.Advance(absl::Hours(100));
  EXPECT_EQ(Deleted(retention), 0);
  EXPECT_THAT(StatusOf(kName), IsOk());
}

TEST_F(RetentionTest, KeepsWhatWaitsForAPersonUnlessTold) {
  world_.truth.clear();
  world_.critique.clear();
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  clock_.Advance(absl::Hours(49));
  Retention careful = Make({"2d"});
  const auto pass = careful.Run(10);
  ASSERT_THAT(pass, IsOk());
  EXPECT_EQ(pass->deleted, 0);
  EXPECT_EQ(pass->kept_waiting, 1);
  EXPECT_THAT(StatusOf(kName), IsOk());
  Retention told = Make({"2d"}, /*waiting=*/true);
  EXPECT_EQ(Deleted(told), 1);
}

TEST_F(RetentionTest, LeavesADiagnosisAloneWhoseLeaseAnotherOneHolds) {
  Create();
  executor_.RunAll();
  clock_.Advance(absl::Hours(49));
  const store::Lease held =
      log_->AcquireLease(kName, "another", clock_.Now(), absl::Hours(1)).value();
  Retention retention = Make({"2d"});
  EXPECT_EQ(Deleted(retention), 0);
  EXPECT_THAT(StatusOf(kName), IsOk());
  ASSERT_THAT(log_->ReleaseLease(held), IsOk());
  EXPECT_EQ(Deleted(retention), 1);
}

TEST_F(RetentionTest, TenantsHaveTimesOfTheirOwn) {
  for (const char* tenant : {"short", "long", "always", "t"}) CreateOf(tenant);
  Retention retention = Make({"10d", "short=1d", "long=20d", "always=forever"});
  const auto there = [&] {
    std::vector<std::string> tenants;
    for (const char* tenant : {"short", "long", "always", "t"}) {
      if (StatusOf(absl::StrCat("tenants/", tenant, "/diagnoses/d")).ok()) {
        tenants.push_back(tenant);
      }
    }
    return tenants;
  };
  using ::testing::ElementsAre;
  clock_.Advance(absl::Hours(24 * 2));
  EXPECT_EQ(Deleted(retention), 1);
  EXPECT_THAT(there(), ElementsAre("long", "always", "t"));
  clock_.Advance(absl::Hours(24 * 9));
  EXPECT_EQ(Deleted(retention), 1);
  EXPECT_THAT(there(), ElementsAre("long", "always"));
  clock_.Advance(absl::Hours(24 * 1000));
  EXPECT_EQ(Deleted(retention), 1);
  EXPECT_THAT(there(), ElementsAre("always"));
}

TEST_F(RetentionTest, DeletesSoManyInAPassAndGoesOnInTheNext) {
  for (const char* id : {"a", "b", "c"}) {
    Create(id);
    executor_.RunAll();
  }
  clock_.Advance(absl::Hours(49));
  Retention retention = Make({"2d"});
  const auto first = retention.Run(2);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->deleted, 2);
  EXPECT_TRUE(first->more);
  EXPECT_THAT(log_->ListOldest("", 0, 10)->names, ::testing::ElementsAre("tenants/t/diagnoses/c"));
  const auto second = retention.Run(2);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->deleted, 1);
  EXPECT_FALSE(second->more);
}

TEST_F(RetentionTest, ARequestDeletesWhatIsOverAndNotWhatRuns) {
  world_.silent.insert("Summarize");
  Create();
  executor_.RunAll();
  EXPECT_THAT(Delete(kName),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cancel it")));
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  ASSERT_THAT(orchestrator_->Cancel(cancel), IsOk());
  executor_.RunAll();
  EXPECT_THAT(Delete(kName), IsOk());
  EXPECT_THAT(Delete(kName), StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_THAT(Delete("tenants/t/diagnoses/none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such diagnosis")));
  EXPECT_THAT(Metrics(), HasSubstr("galen_diagnoses_deleted_total{by=\"request\"} 1"));
}

TEST_F(RetentionTest, WhatHasNoLeaseButIsNotOverIsNotDeleted) {
  world_.silent.insert("Summarize");
  Create();
  executor_.RunAll();
  orchestrator_.reset();  // hands it back
  clock_.Advance(absl::Hours(49));
  const absl::Status refused =
      DeleteDiagnosis(*log_, kName, "b", clock_.Now(), absl::Seconds(15), [](const State& state) {
        return IsInactive(state) ? absl::OkStatus() : absl::FailedPreconditionError("runs");
      });
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("runs")));
  // The lease is free again.
  EXPECT_THAT(log_->AcquireLease(kName, "c", clock_.Now(), absl::Seconds(15)), IsOk());
}

TEST_F(RetentionTest, WatchersOfADeletedDiagnosisAreToldAlsoWhereItsEventsAreInMemory) {
  Create();
  executor_.RunAll();
  // As another orchestrator or `galen retention` deletes it.
  ASSERT_THAT(DeleteDiagnosis(*log_, kName, "b", clock_.Now(), absl::Seconds(15),
                              [](const State&) { return absl::OkStatus(); }),
              IsOk());
  v1::WatchDiagnosisRequest request;
  request.set_name(kName);
  absl::StatusOr<EventBatch> batch = absl::UnknownError("not called");
  orchestrator_->WatchNext(request,
                           [&](absl::StatusOr<EventBatch> events) { batch = std::move(events); });
  executor_.RunAll();
  EXPECT_THAT(batch.status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
}

TEST_F(RetentionTest, TheAskerOfARequestIsInItsEventAndInTheWorkThatFollows) {
  {
    trace::Work work;
    work.context = trace::NewTrace();
    work.asker = "key/7 (customer)";
    const trace::Scope scope(work);
    Create();
  }
  executor_.RunAll();
  EXPECT_EQ(Events().front().created().asker(), "key/7 (customer)");
  EXPECT_EQ(LoadState(*log_, kName)->asker, "key/7 (customer)");
  EXPECT_THAT(trace::Current().asker, Not(HasSubstr("key")));
}

}  // namespace retention_test
}  // namespace galen::orchestrator
