// An approver first asks for a dry run on the machine, through the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/actions/action_upstream.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::gateway::actions {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

galen::remediation::NodeActions TwoOffered() {
  galen::remediation::NodeAction run;
  run.name = "node.reset";
  run.what = galen::remediation::NodeAction::Do::kRun;
  run.text = "Reset ${node}.";
  run.labels = {"GPU"};
  run.run.emplace();
  run.run->name = run.name;
  run.run->text = run.text;
  run.run->steps = {{"reset"}};
  galen::remediation::NodeAction cordon;
  cordon.name = "kubernetes.cordon";
  cordon.text = "Cordon ${node}.";
  cordon.labels = {"GPU"};
  return {{run, cordon}, 1};
}

// The mesh, which knows one diagnosis.
class KnowsOne final : public Upstream {
 public:
  explicit KnowsOne(const galen::v1::Diagnosis& diagnosis) : diagnosis_(diagnosis) {}
  clients::Cancel Ask(Call, clients::Done<Answer> done) override {
    std::move(done)(std::make_unique<galen::v1::Diagnosis>(diagnosis_));
    return [] {};
  }
  std::shared_ptr<Feed> Follow(Call, absl::AnyInvocable<void(const google::protobuf::Message&)>,
                               absl::AnyInvocable<void(absl::Status) &&>) override {
    return nullptr;
  }

 private:
  const galen::v1::Diagnosis& diagnosis_;
};

class RunsAtOnce final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    std::move(task)();
    return true;
  }
};

// A machine that would carry out the request, unless the test sets another answer.
class Machines final : public clients::ExecutionClient {
 public:
  void ResolveNodes(const execution::v1::ResolveNodesRequest&, absl::Time,
                    clients::Done<execution::v1::ResolveNodesResponse>) override {}
  clients::Cancel RunChecks(const execution::v1::RunChecksRequest&, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult>,
                            absl::AnyInvocable<void(absl::Status) &&>) override {
    return clients::NoCancel();
  }
  void DryRunRepair(const execution::v1::DryRunRepairRequest& request, absl::Time deadline,
                    clients::Done<galen::v1::DryRun> done) override {
    asked.push_back(request);
    deadlines.push_back(deadline);
    if (!fails.ok()) return std::move(done)(fails);
    galen::v1::DryRun said;
    said.set_content_hash(request.action().content_hash());
    *said.mutable_plan() = request.action().plan();
    said.set_same_plan(true);
    said.set_would_run(true);
    said.set_text("it would be run as it is planned");
    if (alter) alter(said);
    std::move(done)(said);
  }
  std::vector<execution::v1::DryRunRepairRequest> asked;
  std::vector<absl::Time> deadlines;
  absl::Status fails;
  std::function<void(galen::v1::DryRun&)> alter;
};

class DryRunActionTest : public galen::remediation::ActionsTest {
 protected:
  DryRunActionTest() {
    galen::v1::Cause& cause = *diagnosis_.mutable_report()->mutable_primary_cause();
    cause.add_evidence_ids("gpu.presence@n1");
    audit_ = security::AuditLog::Open(path_).value();
    upstream_.emplace(mesh_, offering_, executor_, clock_, audit_.get(), &machines_);
  }
  Action Proposed(const std::string& run = "node.reset") {
    const std::vector<Action> actions = offering_.List(diagnosis_, clock_.Now()).value();
    for (const Action& action : actions) {
      if (action.run() == run) return action;
    }
    ADD_FAILURE() << run << ": is not proposed";
    return {};
  }
  absl::StatusOr<galen::v1::DryRun> DryRun(const std::string& name,
                                           UserRole role = UserRole::kApprover) {
    Upstream::Call call;
    call.method = galen::v1::ListActionsRequest::descriptor()
                      ->file()
                      ->FindServiceByName("ActionService")
                      ->FindMethodByName("DryRunAction");
    auto request = std::make_shared<galen::v1::DryRunActionRequest>();
    request->set_name(name);
    call.request = request;
    call.resource = name;
    call.deadline = clock_.Now() + absl::Seconds(30);
    call.asker = {"ana", "acme", role, {}};
    absl::StatusOr<Upstream::Answer> got = absl::UnknownError("no answer");
    upstream_->Ask(std::move(call),
                   [&got](absl::StatusOr<Upstream::Answer> answer) { got = std::move(answer); });
    if (!got.ok()) return got.status();
    return dynamic_cast<const galen::v1::DryRun&>(**got);
  }
  std::string AuditText() {
    upstream_.reset();
    audit_.reset();
    std::ifstream in(path_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/audit-dry-",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".log");
  galen::remediation::ApprovalStore offering_{
      store_->records(), TwoOffered(), nullptr,
      [](const Action&, absl::Time) { return absl::StatusOr<std::string>("warrant"); }};
  std::unique_ptr<security::AuditLog> audit_;
  KnowsOne mesh_{diagnosis_};
  RunsAtOnce executor_;
  Machines machines_;
  std::optional<ActionUpstream> upstream_;
};

TEST_F(DryRunActionTest, TellsWhatTheMachineWouldDoAndThatItIsWhatIsProposed) {
  const Action action = Proposed();
  const auto dry_run = DryRun(action.name());
  ASSERT_THAT(dry_run, IsOk());
  EXPECT_EQ(dry_run->name(), action.name());
  EXPECT_EQ(dry_run->content_hash(), action.content_hash());
  EXPECT_TRUE(dry_run->same_plan());
  EXPECT_TRUE(dry_run->would_run());
  ASSERT_EQ(machines_.asked.size(), 1U);
  EXPECT_EQ(machines_.asked[0].diagnosis(), diagnosis_.name());
  EXPECT_EQ(machines_.asked[0].action().plan_size(), action.plan_size());
  EXPECT_THAT(machines_.deadlines, ElementsAre(clock_.Now() + absl::Seconds(30)));
}

TEST_F(DryRunActionTest, OperatorsAndApproversMayAndCustomersMayNot) {
  const std::string name = Proposed().name();
  for (const UserRole role : {UserRole::kOperator, UserRole::kApprover, UserRole::kAdmin}) {
    EXPECT_THAT(DryRun(name, role), IsOk()) << NameOf(role);
  }
  machines_.asked.clear();
  EXPECT_THAT(DryRun(name, UserRole::kCustomer).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("customer")));
  EXPECT_THAT(machines_.asked, IsEmpty());
  const std::string audit = AuditText();
  EXPECT_THAT(audit, HasSubstr("/galen.v1.ActionService/DryRunAction"));
  EXPECT_THAT(audit, HasSubstr("key/ana (operator)"));
  EXPECT_THAT(audit, HasSubstr("PERMISSION_DENIED"));
}

TEST_F(DryRunActionTest, NothingIsDecidedByIt) {
  const Action before = Proposed();
  ASSERT_THAT(DryRun(before.name()), IsOk());
  EXPECT_EQ(Proposed().SerializeAsString(), before.SerializeAsString());
  EXPECT_THAT(offering_.Due(clock_.Now())->actions, IsEmpty());
  // The same for an approved action, of which the machine receives the content only.
  ASSERT_THAT(offering_.Decide(diagnosis_, Approval(before), clock_.Now()), IsOk());
  const Action approved = Proposed();
  ASSERT_THAT(DryRun(before.name()), IsOk());
  EXPECT_EQ(Proposed().SerializeAsString(), approved.SerializeAsString());
  EXPECT_EQ(machines_.asked.back().action().decided_by(), "");
}

TEST_F(DryRunActionTest, APlanThatIsAnotherIsSaidToBe) {
  const std::string name = Proposed().name();
  machines_.alter = [](galen::v1::DryRun& said) { said.set_content_hash("other"); };
  const auto other = DryRun(name);
  ASSERT_THAT(other, IsOk());
  EXPECT_FALSE(other->same_plan());
  EXPECT_FALSE(other->would_run());
  EXPECT_THAT(other->text(), HasSubstr("differs from the proposed plan"));
  // Also where it says the hash of the one and the plan of the other.
  machines_.alter = [](galen::v1::DryRun& said) { said.set_plan(0, "run: reboot"); };
  EXPECT_FALSE(DryRun(name)->same_plan());
  machines_.alter = [](galen::v1::DryRun& said) { said.add_plan("run: reboot"); };
  EXPECT_FALSE(DryRun(name)->would_run());
  machines_.alter = [](galen::v1::DryRun& said) { said.set_name("tenants/other"); };
  EXPECT_EQ(DryRun(name)->name(), name);
}

TEST_F(DryRunActionTest, OnlyWhatRunsOnAMachineCanBeTriedThere) {
  EXPECT_THAT(DryRun(Proposed("kubernetes.cordon").name()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("API server")));
  EXPECT_THAT(DryRun(Proposed("").name()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a person does it")));
  EXPECT_THAT(DryRun("tenants/acme/diagnoses/d1/actions/0").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("proposes no such action")));
  const std::string name = Proposed().name();
  diagnosis_.mutable_report()->clear_primary_cause();
  EXPECT_THAT(DryRun(name).status(), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(machines_.asked, IsEmpty());
}

TEST_F(DryRunActionTest, AMachineThatDoesNotAnswerIsAnErrorThatIsWrittenDown) {
  machines_.fails = absl::DeadlineExceededError("n1: did not answer within 15s");
  EXPECT_THAT(DryRun(Proposed().name()).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("n1")));
  EXPECT_THAT(AuditText(), HasSubstr("DEADLINE_EXCEEDED"));
}

TEST_F(DryRunActionTest, WithoutExecutionThereAreNone) {
  upstream_.emplace(mesh_, offering_, executor_, clock_, nullptr);
  EXPECT_THAT(DryRun(Proposed().name()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--execution")));
}

}  // namespace
}  // namespace galen::gateway::actions
