#include "services/node/exec/exec_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/host/live_host.h"
#include "common/knowledge/rules.h"
#include "exec_testing.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A check whose program prints JSON lines.
knowledge::v1::Check SiteCheck(const std::vector<std::string>& argv) {
  knowledge::v1::Check check;
  check.set_name("site.check");
  check.set_kind(knowledge::v1::Check::EXEC);
  for (const std::string& argument : argv) check.mutable_exec()->add_argv(argument);
  check.mutable_exec()->mutable_time_limit()->set_seconds(60);
  check.mutable_exec()->set_output("json_lines");
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("word");
  finding.set_type("text");
  return check;
}

void AddParameter(knowledge::v1::Check& check, const std::string& name, const std::string& type,
                  const std::string& value) {
  knowledge::v1::Parameter& parameter = *check.add_parameters();
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_default_value(value);
}

class ExecCheckTest : public ::testing::Test {
 protected:
  absl::StatusOr<CheckOutput> Run(const knowledge::v1::Check& check, const host::Host& host,
                                  const std::map<std::string, std::string>& values = {}) {
    galen::v1::CheckParameters asked;
    for (const auto& [name, value] : values) (*asked.mutable_values())[name] = value;
    absl::StatusOr<Parameters> parameters = Parameters::Resolve(check, asked);
    if (!parameters.ok()) return parameters.status();
    CheckContext context{.host = host, .knowledge = knowledge_};
    context.parameters = *std::move(parameters);
    context.deadline = deadline_;
    context.progress = [this](double done, absl::string_view what) {
      progress_.emplace_back(done, std::string(what));
    };
    return RunExecCheck(check, context);
  }

  knowledge::Knowledge knowledge_{knowledge::v1::KnowledgeBase()};
  host::LiveHost live_{[] {
    host::LiveHost::Options options;
    options.name = "n1";
    return options;
  }()};
  absl::Time deadline_ = absl::InfiniteFuture();
  std::vector<std::pair<double, std::string>> progress_;
};

TEST_F(ExecCheckTest, ParametersReachTheProgramAsTheyAreAndNoShell) {
  knowledge::v1::Check check =
      SiteCheck({"printf", R"({"finding": "word", "value": "%s"}\n)", "<{text}>"});
  AddParameter(check, "text", "text", "$HOME; ls *");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  ASSERT_THAT(output->findings, SizeIs(1));
  EXPECT_EQ(output->findings[0].text_value(), "<$HOME; ls *>");
}

TEST_F(ExecCheckTest, AnEmptyValueLeavesItsArgumentOut) {
  knowledge::v1::Check check = SiteCheck(
      {"sh", "-c", R"(echo "{\"finding\": \"word\", \"value\": \"$#\"}")", "sh", "{a}", "{b}"});
  AddParameter(check, "a", "text", "");
  AddParameter(check, "b", "text", "x y");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(output->findings[0].text_value(), "1");
}

TEST_F(ExecCheckTest, AValueNeverBecomesAnOptionOrTheProgram) {
  knowledge::v1::Check check = SiteCheck({"echo", "{server}"});
  AddParameter(check, "server", "text", "n2");
  EXPECT_THAT(Run(check, live_, {{"server", "--delete-all"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("begins with \"-\"")));
  knowledge::v1::Check chosen = SiteCheck({"/opt/{tool}"});
  AddParameter(chosen, "tool", "text", "x");
  EXPECT_THAT(Run(chosen, live_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("must not choose")));
}

TEST_F(ExecCheckTest, AValueIsNotExpandedItself) {
  knowledge::v1::Check check =
      SiteCheck({"printf", R"({"finding": "word", "value": "%s"}\n)", "{a}"});
  AddParameter(check, "a", "text", "{b}");
  AddParameter(check, "b", "text", "--output=/etc/passwd");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(output->findings[0].text_value(), "{b}");
}

TEST_F(ExecCheckTest, ValuesThatMakeAnOptionTogetherAreRefused) {
  knowledge::v1::Check check = SiteCheck({"echo", "{a}{b}"});
  AddParameter(check, "a", "text", "");
  AddParameter(check, "b", "text", "--output=/etc/passwd");
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("read as an option")));
}

TEST_F(ExecCheckTest, AProgramThatIsNotInstalledIsSkipped) {
  EXPECT_THAT(Run(SiteCheck({"galen-no-such-tool"}), live_),
              StatusIs(absl::StatusCode::kNotFound, "galen-no-such-tool is not installed on n1"));
}

TEST_F(ExecCheckTest, AnExitCodeThatIsNotAllowedIsAnErrorWithTheLastWords) {
  knowledge::v1::Check check = SiteCheck(
      {"sh", "-c", R"(echo '{"finding": "word", "value": "x"}'; echo no card >&2; exit 3)"});
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("ended with exit code 3: no card")));
  check.mutable_exec()->add_exit_codes(3);
  EXPECT_THAT(Run(check, live_), IsOk());
}

TEST_F(ExecCheckTest, ProgressIsToldWhileTheProgramRuns) {
  const auto output = Run(
      SiteCheck(
          {"sh", "-c",
           R"(echo '{"progress": 0.5, "message": "half"}'; echo '{"finding": "word", "value": "x"}')"}),
      live_);
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT(progress_, ::testing::ElementsAre(::testing::Pair(0.5, "half")));
  EXPECT_EQ(output->message, "");
}

TEST_F(ExecCheckTest, AHangIsAFindingWhereTheCheckDeclaresOne) {
  knowledge::v1::Check check = SiteCheck({"sleep", "1000"});
  check.mutable_exec()->mutable_time_limit()->set_seconds(0);
  check.mutable_exec()->mutable_time_limit()->set_nanos(100'000'000);
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 100ms")));
  knowledge::v1::FindingSpec& hung = *check.add_findings();
  hung.set_name("hung");
  hung.set_type("bool");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  EXPECT_TRUE(output->findings[0].bool_value());
}

TEST_F(ExecCheckTest, ABundleGivesWhatWasCapturedOfTheVeryArguments) {
  knowledge::v1::Check check = SiteCheck({"tool", "-n", "{n}"});
  AddParameter(check, "n", "int", "2");
  FakeHost host("n1");
  host.AddCommand("tool -n 2", R"({"finding": "word", "value": "exact"})");
  host.AddCommand("tool -n 1", R"({"finding": "word", "value": "other"})");
  const auto output = Run(check, host);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(output->findings[0].text_value(), "exact");
}

TEST_F(ExecCheckTest, ABundleGivesWhatWasCapturedOfTheSameProgramElse) {
  knowledge::v1::Check check = SiteCheck({"tool", "diag", "-n", "2"});
  FakeHost host("n1");
  host.AddCommand("tool list", R"({"finding": "word", "value": "list"})");
  host.AddCommand("tool diag -j", "not this one");
  host.AddCommand("tool diag -n 3", R"({"finding": "word", "value": "other"})");
  const auto output = Run(check, host);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(output->findings[0].text_value(), "other");
  EXPECT_THAT(output->message, HasSubstr("captured: tool diag -n 3"));
  EXPECT_THAT(Run(check, FakeHost("n1")), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
}

// A check of each GPU that also reports a hang.
knowledge::v1::Check DiagCheck() {
  knowledge::v1::Check check = SiteCheck({"tool", "diag", "-r", "2"});
  for (const auto& [name, bad] : {std::pair("passed", "false"), std::pair("hung", "true")}) {
    knowledge::v1::FindingSpec& finding = *check.add_findings();
    finding.set_name(name);
    finding.set_type("bool");
    finding.mutable_abnormal()->set_op(knowledge::v1::Rule::EQ);
    finding.mutable_abnormal()->set_value(bad);
  }
  return check;
}

std::map<std::string, std::string> ValuesOf(const CheckOutput& output) {
  std::map<std::string, std::string> values;
  for (const galen::v1::Finding& finding : output.findings) {
    const std::string key = absl::StrCat(finding.name(), " ", finding.subject().device());
    const auto [at, first] = values.emplace(key, knowledge::ValueText(finding));
    if (!first) absl::StrAppend(&at->second, " and ", knowledge::ValueText(finding));
  }
  return values;
}

TEST_F(ExecCheckTest, OfSeveralCapturedRunsTheOneThatFailedCounts) {
  FakeHost host("n1");
  host.AddCommand("tool diag -r 1",
                  R"({"finding": "passed", "value": true, "device": "gpu:0"}
{"finding": "passed", "value": true, "device": "gpu:1"}
{"finding": "word", "value": "short", "device": "gpu:0"}
{"message": "all well"})");
  host.AddCommand("tool diag -r 3",
                  R"({"finding": "passed", "value": false, "device": "gpu:0"}
{"finding": "passed", "value": true, "device": "gpu:2"}
{"message": "memory fails"})");
  const auto output = Run(DiagCheck(), host);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(ValuesOf(*output), (std::map<std::string, std::string>{{"passed gpu:0", "false"},
                                                                   {"passed gpu:1", "true"},
                                                                   {"passed gpu:2", "true"},
                                                                   {"word gpu:0", "short"},
                                                                   {"hung ", "false"}}));
  EXPECT_EQ(output->message,
            "all well (captured: tool diag -r 1); memory fails (captured: tool diag -r 3)");
  EXPECT_THAT(output->excerpt, HasSubstr("memory fails"));
}

TEST_F(ExecCheckTest, TheVeryArgumentsDoNotHideARunThatFailed) {
  FakeHost host("n1");
  host.AddCommand("tool diag -r 2", R"({"finding": "passed", "value": true, "device": "gpu:0"})");
  host.AddCommand("tool diag -r 3", R"({"finding": "passed", "value": false, "device": "gpu:0"})");
  const auto output = Run(DiagCheck(), host);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(ValuesOf(*output)["passed gpu:0"], "false");
}

TEST_F(ExecCheckTest, ACapturedRunThatDidNotEndIsAHang) {
  FakeHost host("n1");
  host.AddCommand("tool diag -r 1", R"({"finding": "passed", "value": true, "device": "gpu:0"})");
  host.AddCommandError("tool diag -r 3", absl::DeadlineExceededError("did not answer within 1h"));
  const auto output = Run(DiagCheck(), host);
  ASSERT_THAT(output, IsOk());
  EXPECT_EQ(ValuesOf(*output)["hung "], "true");
  EXPECT_EQ(ValuesOf(*output)["passed gpu:0"], "true");
  EXPECT_THAT(output->message, HasSubstr("did not answer within 1h (captured: tool diag -r 3)"));
}

TEST_F(ExecCheckTest, AParserThatIsNotKnownIsNamed) {
  knowledge::v1::Check check = SiteCheck({"true"});
  check.mutable_exec()->set_output("xml");
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("json_lines")));
}

void AddTrial(knowledge::v1::Check& check, const std::string& finding, const std::string& setting) {
  knowledge::v1::FindingSpec& spec = *check.add_findings();
  spec.set_name(finding);
  spec.set_type("bool");
  knowledge::v1::CheckDatum& datum = *check.add_data();
  datum.set_name(finding);
  datum.add_texts(setting);
}

constexpr char kResult[] = R"(echo '{"finding": "word", "value": "x"}')";

TEST_F(ExecCheckTest, AProgramThatFailsIsTriedAgainWithWhatTheCheckDeclares) {
  knowledge::v1::Check check =
      SiteCheck({"sh", "-c", absl::StrCat("if [ \"$P2P\" != off ]; then exit 3; fi; ", kResult)});
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  AddTrial(check, "passes_with_nvls_off", "NVLS=off");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  auto values = ValuesOf(*output);
  EXPECT_EQ(values["passes_with_p2p_off "], "true");
  EXPECT_EQ(values["passes_with_nvls_off "], "false");
  EXPECT_THAT(output->message,
              AllOf(HasSubstr("ended with exit code 3"), HasSubstr("with P2P=off it passes"),
                    HasSubstr("with NVLS=off it fails too"), HasSubstr("without it fails again")));
  EXPECT_THAT(progress_, SizeIs(3));
}

TEST_F(ExecCheckTest, AHangIsTriedAgainToo) {
  knowledge::v1::Check check = SiteCheck(
      {"sh", "-c", absl::StrCat("if [ \"$P2P\" != off ]; then sleep 1000; fi; ", kResult)});
  check.mutable_exec()->mutable_time_limit()->set_seconds(2);
  check.add_findings()->set_name("hung");
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  auto values = ValuesOf(*output);
  EXPECT_EQ(values["hung "], "true");
  EXPECT_EQ(values["passes_with_p2p_off "], "true");
}

TEST_F(ExecCheckTest, WhatFailsWhateverIsTriedStaysAnError) {
  knowledge::v1::Check check = SiteCheck({"sh", "-c", "exit 3"});
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("with P2P=off it fails too")));
}

TEST_F(ExecCheckTest, WithoutTimeForAWholeRunNothingIsTried) {
  knowledge::v1::Check check = SiteCheck({"sh", "-c", "exit 3"});
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  deadline_ = SteadyNow() + absl::Seconds(59);  // of the 60 that a run may take
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("with P2P=off it was not tried")));
}

TEST_F(ExecCheckTest, WhatDoesNotApplyHereIsNotTriedAgain) {
  knowledge::v1::Check check =
      SiteCheck({"sh", "-c", R"(echo '{"skip": "no such card"}'; exit 3)"});
  check.mutable_exec()->add_exit_codes(3);
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  EXPECT_THAT(Run(check, live_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no such card")));
  EXPECT_THAT(progress_, SizeIs(0));
}

TEST_F(ExecCheckTest, AProgramThatPassesIsRunOnce) {
  knowledge::v1::Check check = SiteCheck({"sh", "-c", kResult});
  AddTrial(check, "passes_with_p2p_off", "P2P=off");
  const auto output = Run(check, live_);
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT(output->findings, SizeIs(1));
}

TEST_F(ExecCheckTest, WrongValuesOfAnAllReduceAreAFindingAndACrashIsNot) {
  // all_reduce_perf ends with 1 after either.
  knowledge::v1::Check check = *Shipped().FindCheck("nccl.allreduce");
  check.clear_data();
  const auto prints = [&](const std::string& out) {
    check.mutable_exec()->clear_argv();
    for (const std::string& word :
         {std::string("sh"), std::string("-c"), absl::StrCat("printf '", out, "'; exit 1")}) {
      check.mutable_exec()->add_argv(word);
    }
    return Run(check, live_);
  };
  const auto wrong = prints(
      "8388608 2097152 float sum -1 124 67 118 3 124 67 118 0\\n"
      "# Out of bounds values : 3 FAILED\\n");
  ASSERT_THAT(wrong, IsOk());
  EXPECT_EQ(ValuesOf(*wrong)["wrong_values "], "6");
  EXPECT_THAT(prints("8388608 2097152 float sum -1 124 67 118 0 124 67 118 0\\n"
                     "Test CUDA failure\\n"),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("exit code 1 and no wrong value: Test CUDA failure")));
}

}  // namespace
}  // namespace galen::node
