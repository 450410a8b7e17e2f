// The dry run of a repair on a terminal.
#include "services/cli/repairs/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using galen::v1::CheckResult;
using galen::v1::DryRun;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAction[] = "tenants/acme/diagnoses/d1/actions/0a1b";

class Says final : public http::Transport {
 public:
  explicit Says(http::Reply reply) : reply_(std::move(reply)) {}
  absl::StatusOr<http::Reply> Send(const http::Request& request,
                                   const http::Secret& token) override {
    asked.push_back(
        absl::StrCat(request.method, " ", request.target, " ", request.body, " ", token.Reveal()));
    return reply_;
  }
  std::vector<std::string> asked;

 private:
  const http::Reply reply_;
};

absl::StatusOr<DryRun> Answered(int code, const std::string& body) {
  Says gateway({code, body, std::nullopt});
  return AskForDryRun(gateway, http::Secret("key"), kAction);
}

TEST(DryRunCommandTest, AsksTheGatewayByItsRoute) {
  Says gateway({200, absl::StrCat("{\"name\": \"", kAction, "\", \"wouldRun\": true, \"new\": 1}"),
                std::nullopt});
  const auto dry_run = AskForDryRun(gateway, http::Secret("key"), kAction);
  ASSERT_THAT(dry_run, IsOk());
  EXPECT_TRUE(dry_run->would_run());
  EXPECT_THAT(gateway.asked,
              ::testing::ElementsAre(absl::StrCat("POST /v1/", kAction, ":dryRun {} key")));
}

TEST(DryRunCommandTest, RefusesWhatIsNoNameOfAnAction) {
  for (const char* action :
       {"", "actions/a", "tenants/acme/diagnoses/d1", "tenants/acme/diagnoses/d1/actions/a/b",
        "tenants/acme/diagnoses/d1/actions/a:approve", "tenants/acme/diagnoses/d1/actions/a?x=y",
        "tenants/acme/diagnoses/d1/actions/a\r\nX: y"}) {
    Says gateway({200, "{}", std::nullopt});
    EXPECT_THAT(AskForDryRun(gateway, http::Secret("key"), action).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not an action")));
    EXPECT_TRUE(gateway.asked.empty()) << action;
  }
}

TEST(DryRunCommandTest, SaysWhatTheGatewaySaysIsWrong) {
  EXPECT_THAT(Answered(504, R"({"error": {"status": "DEADLINE_EXCEEDED",
                                "message": "n1: did not answer within 15s"}})")
                  .status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("n1: did not answer")));
  EXPECT_THAT(
      Answered(403, R"({"error": {"status": "PERMISSION_DENIED", "message": "no"}})").status(),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no")));
  for (const char* body : {"", "<html>", "[]", "{}", R"({"error": 3})", R"({"error": {}})",
                           R"({"error": {"message": []}})"}) {
    EXPECT_THAT(
        Answered(502, body).status(),
        StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("HTTP 502"), HasSubstr(body))));
  }
  for (const char* body : {"", "[]", "{}", R"({"name": "tenants/other"})", "{\"name\": 3}"}) {
    EXPECT_THAT(Answered(200, body).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a dry run")));
  }
}

TEST(DryRunCommandTest, SendsNoKeyInTheClear) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/galen-key-", getpid());
  std::ofstream(file) << "a key\n";
  EXPECT_THAT(AskForDryRun({"http://gateway.example:8080", file, ""}, kAction).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in the clear")));
  EXPECT_THAT(AskForDryRun({"gateway.example:8080", file, ""}, kAction).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not an https:// address")));
  std::ofstream(file, std::ios::trunc) << "\n";
  EXPECT_THAT(AskForDryRun({"http://127.0.0.1:1", file, ""}, kAction).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is empty")));
  EXPECT_THAT(AskForDryRun({"http://127.0.0.1:1", "/nowhere", ""}, kAction).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot be read")));
}

DryRun OfAGpu() {
  DryRun dry_run;
  dry_run.set_name(kAction);
  dry_run.set_content_hash("0123456789abcdef0123456789abcdef");
  dry_run.set_same_plan(true);
  dry_run.set_text("nothing would be run: it is not so that no process is on this GPU");
  dry_run.add_plan("run: nvidia-smi -i 0000:86:00.0 --gpu-reset");
  DryRun::Look& look = *dry_run.add_looks();
  look.set_text("no process is on this GPU");
  look.set_command("nvidia-smi --query-compute-apps=pid");
  look.set_output("4711\n4712");
  CheckResult& check = *dry_run.add_checks();
  check.set_check("gpu.clocks");
  check.set_status(CheckResult::PASS);
  galen::v1::Finding& clock = *check.add_findings();
  clock.set_name("sm_mhz");
  clock.set_double_value(200);
  clock.set_unit("MHz");
  check.add_findings()->set_name("ratio_busy");
  dry_run.mutable_look_time()->set_seconds(1'790'000'000);
  return dry_run;
}

TEST(DryRunCommandTest, ShowsWhatWouldRunAndHowItIsNow) {
  const std::string text = DryRunText(OfAGpu(), Terminal());
  EXPECT_EQ(text, absl::StrCat("a dry run of ", kAction,
                               ", 2026-09-21 14:13:20 UTC by the machine's clock\n"
                               "would not run: nothing would be run: it is not so that no process "
                               "is on this GPU\n"
                               "plan, the one that is proposed (0123456789abcdef):\n"
                               "  run: nvidia-smi -i 0000:86:00.0 --gpu-reset\n"
                               "now:\n"
                               "  not so: no process is on this GPU (nvidia-smi "
                               "--query-compute-apps=pid prints 4711; 4712)\n"
                               "  gpu.clocks PASS\n"
                               "    sm_mhz 200 MHz\n"
                               "    ratio_busy unknown\n"));
}

TEST(DryRunCommandTest, SaysLoudlyThatThePlanIsAnother) {
  DryRun other = OfAGpu();
  other.set_same_plan(false);
  EXPECT_THAT(DryRunText(other, Terminal()), HasSubstr("NOT the one that is proposed"));
  other.set_plan(0, "run: \x1b[2Kreboot\nplan, the one that is proposed");
  EXPECT_THAT(DryRunText(other, Terminal()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(DryRunText(other, Terminal()), Not(HasSubstr("\nplan, the one")));
}

}  // namespace
}  // namespace galen::cli
