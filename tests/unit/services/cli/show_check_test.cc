#include "services/cli/show_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace galen::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("gpu.burn");
  check.set_title("Burns the GPUs");
  check.set_kind(knowledge::v1::Check::EXEC);
  check.mutable_exec()->add_argv("burn");
  check.mutable_exec()->add_argv("{seconds}");
  check.add_needs("nvidia");
  check.set_intrusive(true);
  check.set_occupies("gpu");
  check.mutable_cost()->set_seconds(60);
  check.mutable_time_limit()->set_seconds(90);
  knowledge::v1::Parameter& parameter = *check.add_parameters();
  parameter.set_name("seconds");
  parameter.set_type("int");
  parameter.set_default_value("10");
  parameter.set_min(5);
  parameter.set_max(60);
  parameter.set_description("how long");
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("errors");
  finding.set_type("int");
  finding.set_subject("gpu");
  finding.mutable_abnormal()->set_op(knowledge::v1::Rule::GT);
  finding.mutable_abnormal()->set_value("0");
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label("GPU.BOARD.DEFECTIVE");
  knowledge::v1::Rule& rule = *label.add_confirm();
  rule.set_check("gpu.burn");
  rule.set_finding("errors");
  rule.set_op(knowledge::v1::Rule::GT);
  rule.set_value("0");
  return base;
}

class ShowCheckTest : public ::testing::Test {
 protected:
  std::istringstream in_;
  std::ostringstream out_, err_;
  Console console_{in_, out_, err_, Terminal{}, false};
  const knowledge::Knowledge knowledge_{Base()};
};

TEST_F(ShowCheckTest, ShowsAllThatIsDeclaredAndWhatAFindingSpeaksFor) {
  EXPECT_EQ(ShowCheck(knowledge_, "gpu.burn", /*json=*/false, console_), kOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("burn {seconds}"), HasSubstr("about 60 s, at most 90 s"),
                    HasSubstr("it loads the gpu, one check at a time"),
                    HasSubstr("int from 5 to 60, 10 unless set: how long"),
                    HasSubstr("abnormal when > 0"), HasSubstr("GPU.BOARD.DEFECTIVE: errors > 0")));
}

TEST_F(ShowCheckTest, ACheckThatIsNotThereIsBadInput) {
  EXPECT_EQ(ShowCheck(knowledge_, "gpu.bun", false, console_), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("\"gpu.bun\": not in the catalogue"));
}

TEST_F(ShowCheckTest, JsonIsOneObject) {
  EXPECT_EQ(ShowCheck(knowledge_, "gpu.burn", /*json=*/true, console_), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"name\":\"gpu.burn\""));
}

v1::CheckResult Result(v1::CheckResult::Status status) {
  v1::CheckResult result;
  result.set_id("gpu.burn@n1");
  result.set_status(status);
  result.set_progress(0.426);
  result.set_message("GPU 3 of 8");
  return result;
}

TEST_F(ShowCheckTest, ProgressIsOneLineThatGoesAwayWithTheResult) {
  CheckProgress progress(console_, /*shown=*/true);
  progress.Take(Result(v1::CheckResult::RUNNING));
  EXPECT_THAT(err_.str(), HasSubstr("gpu.burn@n1 42% GPU 3 of 8"));
  progress.Take(Result(v1::CheckResult::PASS));
  EXPECT_THAT(err_.str(), EndsWith("\r\x1b[K"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ShowCheckTest, ProgressIsSilentWhereNobodyLooks) {
  CheckProgress progress(console_, /*shown=*/false);
  progress.Take(Result(v1::CheckResult::RUNNING));
  progress.Take(Result(v1::CheckResult::PASS));
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace galen::cli
