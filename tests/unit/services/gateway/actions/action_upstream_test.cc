// Approvers decide, by the API.
#include "services/gateway/actions/action_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::gateway::actions {
namespace {

using ::galen::remediation::ADiagnosis;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::HasSubstr;

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

class ActionServiceTest : public galen::remediation::ActionsTest {
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
  ActionUpstream upstream_{mesh_, approvals_, executor_, clock_, audit_.get()};
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
