#include "common/knowledge/make_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/knowledge/findings.h"

namespace galen::knowledge {
namespace {

using galen::v1::CheckResult;
using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::Check Spec() {
  v1::Check spec;
  spec.set_name("gpu.example");
  const auto add = [&](const char* name, const char* type, const char* unit) {
    v1::FindingSpec& finding = *spec.add_findings();
    finding.set_name(name);
    finding.set_type(type);
    finding.set_unit(unit);
    finding.set_subject("gpu");
    return &finding;
  };
  add("errors", "int", "count")->mutable_abnormal()->set_op(v1::Rule::GT);
  spec.mutable_findings(0)->mutable_abnormal()->set_value("0");
  add("draw", "float", "W")->mutable_abnormal()->set_op(v1::Rule::GT);
  spec.mutable_findings(1)->mutable_abnormal()->set_value("limit");
  add("limit", "float", "W");
  add("state", "enum", "");
  return spec;
}

TEST(MakeResult, PassesWithoutAbnormalFindingsAndFillsUnitAndId) {
  CheckOutput output;
  output.findings.push_back(IntFinding("errors", "n1", "gpu:0", 0));
  output.message = "no errors";
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(result.id(), "gpu.example@n1");
  EXPECT_EQ(result.findings(0).unit(), "count");
  EXPECT_FALSE(result.findings(0).abnormal());
}

TEST(MakeResult, NoSecretLeavesTheMachine) {
  v1::Check spec = Spec();
  for (const char* type : {"text", "event"}) {
    v1::FindingSpec& finding = *spec.add_findings();
    finding.set_name(type);
    finding.set_type(type);
  }
  const std::string token = absl::StrCat("hf_", std::string(34, 'q'));
  galen::v1::LogEvent event;
  event.set_text(absl::StrCat("curl https://u:", token, "@host/"));
  CheckOutput output;
  output.findings.push_back(TextFinding("text", "n1", "job", absl::StrCat("HF_TOKEN=", token)));
  output.findings.push_back(EventFinding("event", "n1", "", event));
  output.message = absl::StrCat("--token ", token);
  // The last one is cut where the excerpt ends.
  output.excerpt = absl::StrCat("password=", token, "\n", std::string(4070, 'x'), " ", token);
  output.wanted = {absl::StrCat("try --token ", token)};
  const CheckResult result = MakeResult(spec, "n1", output);
  EXPECT_EQ(result.DebugString().find("qqqqqqqq"), std::string::npos) << result.DebugString();
  EXPECT_THAT(result.excerpt(), HasSubstr("password=[redacted]"));
  const CheckResult failed =
      MakeResult(spec, "n1", absl::InternalError(absl::StrCat("Authorization: Bearer ", token)));
  EXPECT_EQ(failed.DebugString().find("qqqqqqqq"), std::string::npos) << failed.DebugString();
}

TEST(MakeResult, FailsByTheLimitsOfTheCatalogue) {
  CheckOutput output;
  output.findings.push_back(IntFinding("errors", "n1", "gpu:0", 0));
  output.findings.push_back(IntFinding("errors", "n1", "gpu:1", 3));
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_FALSE(result.findings(0).abnormal());
  EXPECT_TRUE(result.findings(1).abnormal());
}

TEST(MakeResult, ALimitMayBeAnotherFindingOfTheSameDevice) {
  CheckOutput output;
  // The limit comes after the value that it limits.
  output.findings.push_back(FloatFinding("draw", "n1", "gpu:0", 500));
  output.findings.push_back(FloatFinding("draw", "n1", "gpu:1", 500));
  output.findings.push_back(FloatFinding("limit", "n1", "gpu:0", 400));
  output.findings.push_back(FloatFinding("limit", "n1", "gpu:1", 600));
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_TRUE(result.findings(0).abnormal());
  EXPECT_FALSE(result.findings(1).abnormal());
}

TEST(MakeResult, AnUnknownFindingIsNotAbnormalAndStaysUnknown) {
  CheckOutput output;
  output.findings.push_back(UnknownFinding("errors", "n1", "gpu:0"));
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(result.findings(0).value_case(), galen::v1::Finding::VALUE_NOT_SET);
}

TEST(MakeResult, AFindingThatIsNotDeclaredIsADefect) {
  CheckOutput undeclared;
  undeclared.findings.push_back(IntFinding("surprise", "n1", "gpu:0", 1));
  EXPECT_EQ(MakeResult(Spec(), "n1", undeclared).status(), CheckResult::ERROR);
  EXPECT_THAT(MakeResult(Spec(), "n1", undeclared).message(),
              HasSubstr("surprise, which the catalogue does not declare"));
  CheckOutput wrong_type;
  wrong_type.findings.push_back(TextFinding("errors", "n1", "gpu:0", "three"));
  EXPECT_EQ(MakeResult(Spec(), "n1", wrong_type).status(), CheckResult::ERROR);
}

TEST(MakeResult, UnlimitedIsANumber) {
  CheckOutput output;
  output.findings.push_back(TextFinding("limit", "n1", "gpu:0", "unlimited"));
  output.findings.push_back(FloatFinding("draw", "n1", "gpu:0", 500));
  EXPECT_EQ(MakeResult(Spec(), "n1", output).status(), CheckResult::PASS);
}

TEST(MakeResult, ErrorsBecomeSkippedOrError) {
  for (const absl::Status& error :
       {absl::NotFoundError("x"), absl::UnavailableError("x"), absl::PermissionDeniedError("x"),
        absl::FailedPreconditionError("x")}) {
    EXPECT_EQ(MakeResult(Spec(), "n1", error).status(), CheckResult::SKIPPED) << error;
  }
  for (const absl::Status& error : {absl::DeadlineExceededError("x"), absl::DataLossError("x"),
                                    absl::AbortedError("x"), absl::InternalError("x")}) {
    EXPECT_EQ(MakeResult(Spec(), "n1", error).status(), CheckResult::ERROR) << error;
    EXPECT_EQ(MakeResult(Spec(), "n1", error).message(), "x");
  }
}

TEST(MakeResult, CleansAndBoundsForeignText) {
  CheckOutput output;
  output.findings.push_back(TextFinding("state", "n1", "gpu:0", "\x1b[31mred\xff\x01"));
  output.message = std::string(5000, 'm');
  output.excerpt = std::string(10000, 'e') + "\xff";
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_LE(result.message().size(), 1024u);
  EXPECT_LE(result.excerpt().size(), 4096u);
  EXPECT_EQ(result.findings(0).text_value().find('\x1b'), std::string::npos);
  EXPECT_EQ(result.findings(0).text_value().find('\xff'), std::string::npos);
}

TEST(MakeResult, BoundsTheNumberOfFindingsAndSaysSo) {
  CheckOutput output;
  for (int i = 0; i < 10005; ++i) {
    output.findings.push_back(IntFinding("errors", "n1", absl::StrCat("gpu:", i), 0));
  }
  const CheckResult result = MakeResult(Spec(), "n1", output);
  EXPECT_THAT(result.findings(), SizeIs(10000));
  EXPECT_THAT(result.message(), HasSubstr("5 of 10005 findings were left out"));
}

}  // namespace
}  // namespace galen::knowledge
