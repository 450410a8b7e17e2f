// An approval is for one action as it was seen, by an approver, once, and soon over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/actions/action_book.h"
#include "services/gateway/actions/action_upstream.h"
#include "services/gateway/actions/proposals.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway::actions {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::HasSubstr;
using ::testing::Not;

galen::v1::Diagnosis ADiagnosis(const std::string& name = "tenants/acme/diagnoses/d1") {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name(name);
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("GPU.PCIE.FELL_OFF_BUS");
  cause.set_mitigation("Drain the node and reset the GPU.");
  for (const char* node : {"n1", "n2"}) {
    galen::v1::Device& device = *cause.add_devices();
    device.set_node(node);
    device.set_device("gpu:3");
    device.set_serial("4711");
  }
  return diagnosis;
}

class ActionsTest : public ::testing::Test {
 protected:
  std::vector<Action> List() { return book_.List(diagnosis_, clock_.Now()).value(); }
  ActionBook::Decision Approval(const Action& action) {
    return {action.name(), action.etag(), "key/ana", "seen", kUsualLifetime, true};
  }
  absl::StatusOr<Action> Decide(const ActionBook::Decision& decision) {
    return book_.Decide(diagnosis_, decision, clock_.Now());
  }
  absl::StatusOr<Action> Consume(const Action& action, const std::string& run = "run-1") {
    return book_.Consume(action.name(), action.content_hash(), run, clock_.Now());
  }

  testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  ActionBook book_{store_->records()};
  galen::v1::Diagnosis diagnosis_ = ADiagnosis();
};

TEST_F(ActionsTest, AReportProposesWhatItsCausesNeedOnEachTarget) {
  const std::vector<Action> actions = List();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0].state(), Action::PROPOSED);
  EXPECT_EQ(actions[0].target().node(), "n1");
  EXPECT_EQ(actions[1].target().node(), "n2");
  EXPECT_NE(actions[0].content_hash(), actions[1].content_hash());
  EXPECT_EQ(actions[0].target().serial(), "");
  diagnosis_.mutable_report()->set_outcome(galen::v1::Report::NO_CAUSE_CONFIRMED);
  EXPECT_TRUE(List().empty());
}

TEST_F(ActionsTest, AnApprovalIsForOneActionOnOneTargetAndIsTakenOnce) {
  const std::vector<Action> actions = List();
  const auto approved = Decide(Approval(actions[0]));
  ASSERT_THAT(approved, IsOk());
  EXPECT_EQ(approved->state(), Action::APPROVED);
  EXPECT_EQ(approved->decided_by(), "key/ana");
  EXPECT_EQ(List()[1].state(), Action::PROPOSED);
  EXPECT_THAT(Consume(actions[1]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("nobody approved")));
  ASSERT_THAT(Consume(actions[0]), IsOk());
  EXPECT_THAT(Consume(actions[0]), IsOk());  // the same run asks again
  EXPECT_THAT(Consume(actions[0], "run-2").status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("CONSUMED")));
  EXPECT_EQ(List()[0].state(), Action::CONSUMED);
  EXPECT_EQ(List()[0].consumed_by(), "run-1");
}

TEST_F(ActionsTest, TheSameRequestApprovesOnlyOnceAndNeverAfterItExpired) {
  const ActionBook::Decision decision = Approval(List()[0]);
  ASSERT_THAT(Decide(decision), IsOk());
  EXPECT_THAT(Decide(decision).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
  clock_.Advance(absl::Minutes(16));
  EXPECT_EQ(List()[0].state(), Action::EXPIRED);
  EXPECT_THAT(Decide(decision).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
  EXPECT_THAT(Consume(List()[0]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("EXPIRED")));
  // A person who looks again may approve again.
  ASSERT_THAT(Decide(Approval(List()[0])), IsOk());
  EXPECT_THAT(Consume(List()[0]), IsOk());
}

TEST_F(ActionsTest, AnAlteredActionIsNotTheOneThatWasApproved) {
  const Action seen = List()[0];
  diagnosis_.mutable_report()->mutable_primary_cause()->set_mitigation("Wipe the node.");
  EXPECT_THAT(Decide(Approval(seen)).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("no longer as it was seen")));
  diagnosis_ = ADiagnosis();
  ASSERT_THAT(Decide(Approval(seen)), IsOk());
  diagnosis_.mutable_report()->mutable_primary_cause()->set_mitigation("Wipe the node.");
  const std::vector<Action> now = List();
  ASSERT_EQ(now.size(), 3U);
  EXPECT_EQ(now[0].text(), "Wipe the node.");
  EXPECT_EQ(now[0].state(), Action::PROPOSED);
  EXPECT_EQ(now[1].state(), Action::WITHDRAWN);
  EXPECT_THAT(Consume(now[0]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("another action")));
}

TEST_F(ActionsTest, ARejectedActionStaysRejectedAndAnApprovalCanBeTakenBack) {
  Action action = List()[0];
  ASSERT_THAT(Decide(Approval(action)), IsOk());
  ActionBook::Decision rejection = Approval(List()[0]);
  rejection.approve = false;
  ASSERT_THAT(Decide(rejection), IsOk());
  EXPECT_THAT(Consume(action).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("REJECTED")));
  EXPECT_THAT(Decide(Approval(List()[0])).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("REJECTED")));
}

TEST_F(ActionsTest, AnotherDiagnosisProposesNoneOfThese) {
  const Action action = List()[0];
  diagnosis_ = ADiagnosis("tenants/other/diagnoses/d1");
  EXPECT_THAT(Decide(Approval(action)).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such action")));
}

TEST_F(ActionsTest, RefusesWhatIsOutOfBounds) {
  ActionBook::Decision decision = Approval(List()[0]);
  decision.etag = "";
  EXPECT_THAT(Decide(decision).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("etag")));
  for (const absl::Duration lifetime :
       {absl::ZeroDuration(), absl::Hours(2), -absl::Seconds(1), absl::InfiniteDuration()}) {
    decision = Approval(List()[0]);
    decision.lifetime = lifetime;
    EXPECT_THAT(Decide(decision).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lifetime")));
  }
}

TEST_F(ActionsTest, OfManyExecutorsAndApproversOneWins) {
  std::atomic<int> approved = 0;
  std::atomic<int> consumed = 0;
  const Action action = List()[0];
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      if (Decide(Approval(action)).ok()) ++approved;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(approved, 1);
  threads.clear();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      if (Consume(action, absl::StrCat("run-", i)).ok()) ++consumed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(consumed, 1);
}

// The mesh, which knows one diagnosis.
class OneDiagnosis final : public Upstream {
 public:
  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    asked.push_back(std::string(call.method->name()));
    std::move(done)(std::make_unique<galen::v1::Diagnosis>(ADiagnosis()));
    return [] {};
  }
  std::shared_ptr<Feed> Follow(Call, absl::AnyInvocable<void(const google::protobuf::Message&)>,
                               absl::AnyInvocable<void(absl::Status) &&>) override {
    return nullptr;
  }
  std::vector<std::string> asked;
};

class AtOnce final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    std::move(task)();
    return true;
  }
};

class ActionServiceTest : public ActionsTest {
 protected:
  template <typename Request>
  absl::StatusOr<Upstream::Answer> Call(const char* method, Request request,
                                        const std::string& resource, UserRole role) {
    Upstream::Call call;
    call.method = galen::v1::ListActionsRequest::descriptor()
                      ->file()
                      ->FindServiceByName("ActionService")
                      ->FindMethodByName(method);
    call.request = std::make_shared<Request>(std::move(request));
    call.resource = resource;
    call.asker = {"ana", "acme", role, {}};
    absl::StatusOr<Upstream::Answer> got = absl::UnknownError("no answer");
    upstream_.Ask(std::move(call),
                  [&got](absl::StatusOr<Upstream::Answer> answer) { got = std::move(answer); });
    return got;
  }
  absl::StatusOr<Upstream::Answer> Approve(UserRole role) {
    galen::v1::ApproveActionRequest request;
    const Action action = List()[0];
    request.set_name(action.name());
    request.set_etag(action.etag());
    return Call("ApproveAction", request, action.name(), role);
  }
  std::string Audit() {
    audit_.reset();
    std::ifstream in(path_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/audit-",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".log");
  std::unique_ptr<security::AuditLog> audit_ = security::AuditLog::Open(path_).value();
  OneDiagnosis mesh_;
  AtOnce executor_;
  ActionUpstream upstream_{mesh_, book_, executor_, clock_, audit_.get()};
};

TEST_F(ActionServiceTest, CustomersAndOperatorsApproveNothing) {
  for (const UserRole role : {UserRole::kCustomer, UserRole::kOperator}) {
    EXPECT_THAT(Approve(role).status(),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("approver")));
  }
  EXPECT_EQ(List()[0].state(), Action::PROPOSED);
  EXPECT_THAT(Audit(), HasSubstr("PERMISSION_DENIED"));
}

TEST_F(ActionServiceTest, AnApproverApprovesAndItIsWrittenDown) {
  ASSERT_THAT(Approve(UserRole::kApprover).status(), IsOk());
  EXPECT_EQ(List()[0].state(), Action::APPROVED);
  EXPECT_EQ(List()[0].decided_by(), "key/ana");
  const std::string audit = Audit();
  EXPECT_THAT(audit, HasSubstr("key/ana (approver)"));
  EXPECT_THAT(audit, HasSubstr("/galen.v1.ActionService/ApproveAction"));
  EXPECT_THAT(audit, HasSubstr("tenants/acme/diagnoses/d1/actions/"));
}

TEST_F(ActionServiceTest, EveryoneMayListWhatIsTheirs) {
  const auto listed = Call("ListActions", galen::v1::ListActionsRequest(),
                           "tenants/acme/diagnoses/d1", UserRole::kCustomer);
  ASSERT_THAT(listed.status(), IsOk());
  EXPECT_EQ(dynamic_cast<const galen::v1::ListActionsResponse&>(**listed).actions_size(), 2);
}

TEST_F(ActionServiceTest, OtherCallsGoToTheMeshAsTheyAre) {
  Upstream::Call call;
  call.method = galen::v1::GetDiagnosisRequest::descriptor()
                    ->file()
                    ->FindServiceByName("DiagnosisService")
                    ->FindMethodByName("CancelDiagnosis");
  upstream_.Ask(std::move(call), [](absl::StatusOr<Upstream::Answer>) {});
  EXPECT_EQ(mesh_.asked, std::vector<std::string>{"CancelDiagnosis"});
}

}  // namespace
}  // namespace galen::gateway::actions
