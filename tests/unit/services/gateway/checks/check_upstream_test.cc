#include "services/gateway/checks/check_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "galen/v1/check_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Passes nothing on: these calls are not ours.
class Mesh final : public Upstream {
 public:
  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    asked = call.method->name();
    std::move(done)(absl::NotFoundError("of the mesh"));
    return clients::NoCancel();
  }
  std::shared_ptr<Feed> Follow(Call, absl::AnyInvocable<void(const google::protobuf::Message&)>,
                               absl::AnyInvocable<void(absl::Status) &&>) override {
    return nullptr;
  }
  std::string asked;
};

class Execution final : public clients::ExecutionClient {
 public:
  void ResolveNodes(const execution::v1::ResolveNodesRequest& request, absl::Time,
                    clients::Done<execution::v1::ResolveNodesResponse> done) override {
    resolved_for = request.diagnosis();
    execution::v1::ResolveNodesResponse response;
    for (int i = 0; i < nodes; ++i) response.add_nodes(absl::StrCat("n", i));
    std::move(done)(std::move(response));
  }
  clients::Cancel RunChecks(const execution::v1::RunChecksRequest& request, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    ran = request;
    if (hangs) {
      done_ = std::move(done);
      return [this] { std::exchange(done_, nullptr)(absl::CancelledError("hung up")); };
    }
    for (auto node = request.nodes().rbegin(); node != request.nodes().rend(); ++node) {
      for (const std::string& check : request.checks()) {
        galen::v1::CheckResult result;
        result.set_id(absl::StrCat(check, "@", *node));
        result.set_check(check);
        result.set_node(*node);
        result.set_status(galen::v1::CheckResult::RUNNING);
        on_result(result);
        result.set_status(galen::v1::CheckResult::PASS);
        on_result(result);
      }
    }
    std::move(done)(ends);
    return clients::NoCancel();
  }
  int nodes = 2;
  bool hangs = false;
  absl::Status ends;
  std::string resolved_for;
  execution::v1::RunChecksRequest ran;

 private:
  absl::AnyInvocable<void(absl::Status) &&> done_;
};

class CheckUpstreamTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<std::string>> Run(const galen::v1::RunChecksRequest& request) {
    absl::StatusOr<Upstream::Answer> answer = absl::UnknownError("never answered");
    cancel_ = upstream_.Ask(CallOf(request), [&](absl::StatusOr<Upstream::Answer> answered) {
      answer = std::move(answered);
    });
    if (execution_.hangs) cancel_();
    if (!answer.ok()) return answer.status();
    std::vector<std::string> ids;
    for (const auto& result :
         dynamic_cast<const galen::v1::RunChecksResponse&>(**answer).results()) {
      ids.push_back(result.id());
    }
    return ids;
  }
  static Upstream::Call CallOf(const galen::v1::RunChecksRequest& request) {
    Upstream::Call call;
    call.method = galen::v1::RunChecksRequest::descriptor()
                      ->file()
                      ->FindServiceByName("CheckService")
                      ->FindMethodByName("RunChecks");
    call.request = std::make_shared<galen::v1::RunChecksRequest>(request);
    call.resource = request.parent();
    return call;
  }
  static galen::v1::RunChecksRequest Wanted() {
    galen::v1::RunChecksRequest request;
    request.set_parent("tenants/acme");
    request.add_checks("system.services");
    request.add_checks("gpu.ecc");
    return request;
  }

  Mesh mesh_;
  Execution execution_;
  CheckUpstream upstream_{mesh_, &execution_};
  clients::Cancel cancel_;
};

TEST_F(CheckUpstreamTest, GivesWhatEachCheckSaidByNode) {
  galen::v1::RunChecksRequest request = Wanted();
  request.add_nodes("b");
  request.add_nodes("a");
  EXPECT_THAT(Run(request).value(),
              ElementsAre("gpu.ecc@a", "system.services@a", "gpu.ecc@b", "system.services@b"));
  EXPECT_EQ(execution_.resolved_for, "");
}

TEST_F(CheckUpstreamTest, AsksInTheNameOfTheTenantAndChangesNothing) {
  ASSERT_TRUE(Run(Wanted()).ok());
  EXPECT_TRUE(absl::StartsWith(execution_.ran.diagnosis(), "tenants/acme/checks/"));
  EXPECT_EQ(execution_.resolved_for, execution_.ran.diagnosis());
  EXPECT_FALSE(execution_.ran.allow_intrusive());
  EXPECT_FALSE(execution_.ran.allow_busy());
  EXPECT_THAT(execution_.ran.nodes(), ElementsAre("n0", "n1"));
  // The results of one call are not returned to the next.
  const std::string before = execution_.ran.diagnosis();
  ASSERT_TRUE(Run(Wanted()).ok());
  EXPECT_NE(execution_.ran.diagnosis(), before);
}

TEST_F(CheckUpstreamTest, RefusesWhatIsTooMuchOrNothing) {
  galen::v1::RunChecksRequest nothing = Wanted();
  nothing.clear_checks();
  EXPECT_THAT(Run(nothing).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checks")));
  galen::v1::RunChecksRequest many = Wanted();
  for (int i = 0; i < 50; ++i) many.add_checks("gpu.ecc");
  EXPECT_THAT(Run(many).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checks")));
  galen::v1::RunChecksRequest no_name = Wanted();
  no_name.add_nodes("");
  EXPECT_THAT(Run(no_name).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes")));
  EXPECT_EQ(execution_.ran.checks_size(), 0);
  execution_.nodes = 101;
  EXPECT_THAT(Run(Wanted()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("101")));
  execution_.nodes = 0;
  EXPECT_THAT(Run(Wanted()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no nodes")));
}

TEST_F(CheckUpstreamTest, TellsWhatExecutionSaysAndEndsWithItsClient) {
  execution_.ends = absl::InvalidArgumentError("check \"x\": not in the catalogue");
  EXPECT_THAT(Run(Wanted()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("catalogue")));
  execution_.hangs = true;
  EXPECT_THAT(Run(Wanted()).status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("hung up")));
}

TEST_F(CheckUpstreamTest, WithoutExecutionItSaysSoAndOtherCallsGoOn) {
  CheckUpstream alone(mesh_, nullptr);
  absl::Status said;
  const auto note = [&](absl::StatusOr<Upstream::Answer> answer) { said = answer.status(); };
  alone.Ask(CallOf(Wanted()), note);
  EXPECT_THAT(said, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("--execution")));
  Upstream::Call other = CallOf(Wanted());
  other.request = std::make_shared<galen::v1::RunChecksResponse>();
  alone.Ask(std::move(other), note);
  EXPECT_THAT(said, StatusIs(absl::StatusCode::kNotFound, HasSubstr("of the mesh")));
}

}  // namespace
}  // namespace galen::gateway
