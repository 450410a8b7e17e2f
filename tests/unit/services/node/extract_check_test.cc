#include "services/node/extract_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/knowledge/rules.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

knowledge::v1::Check Declared(const char* type, const char* pattern) {
  knowledge::v1::Check check;
  check.set_name("site.example");
  check.set_kind(knowledge::v1::Check::EXTRACT);
  check.add_command("site-tool");
  check.add_command("--status");
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("value");
  finding.set_type(type);
  finding.set_pattern(pattern);
  return check;
}

absl::StatusOr<CheckOutput> RunDeclared(const knowledge::v1::Check& check, const FakeHost& host) {
  const knowledge::Knowledge knowledge((knowledge::v1::KnowledgeBase()));
  return RunExtractCheck(check, {.host = host, .knowledge = knowledge});
}

std::string Extracted(const char* type, const char* pattern, const char* output) {
  FakeHost host("n1");
  host.AddCommand("site-tool --status", output);
  const auto result = RunDeclared(Declared(type, pattern), host);
  return result.ok() ? knowledge::ValueText(result->findings.front())
                     : std::string(result.status().message());
}

TEST(ExtractCheck, ReadsEveryType) {
  EXPECT_EQ(Extracted("int", "^temp: (\\d+)$", "fan: 9\ntemp: 41\n"), "41");
  EXPECT_EQ(Extracted("float", "load=([0-9.]+)", "load=0.5"), "0.5");
  EXPECT_EQ(Extracted("text", "state (\\w+)", "state READY now"), "READY");
  EXPECT_EQ(Extracted("bool", "degraded", "all fine"), "false");
  EXPECT_EQ(Extracted("bool", "degraded", "raid degraded"), "true");
}

TEST(ExtractCheck, WhatDoesNotMatchIsUnknown) {
  EXPECT_EQ(Extracted("int", "^temp: (\\d+)$", "temp: hot\n"), "unknown");
  EXPECT_EQ(Extracted("int", "(\\d+)", "99999999999999999999999"), "unknown");
  EXPECT_EQ(Extracted("float", "(\\w+)", "nan"), "unknown");
}

TEST(ExtractCheck, ACommandThatFailsSaysNothing) {
  FakeHost host("n1");
  host.AddCommand("site-tool --status", "degraded", 3, "cannot open device");
  EXPECT_THAT(RunDeclared(Declared("bool", "degraded"), host),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("exit code 3: cannot open device")));
  EXPECT_TRUE(absl::IsUnavailable(RunDeclared(Declared("bool", "x"), FakeHost("n1")).status()));
}

TEST(ExtractCheck, WhatDoesNotMatchInACutOutputIsNotFalse) {
  host::CommandResult cut;
  cut.out = "all fine so far";
  cut.truncated = true;
  FakeHost host("n1");
  host.AddCommandResult("site-tool --status", cut);
  EXPECT_THAT(RunDeclared(Declared("bool", "degraded"), host),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than is read")));
}

TEST(ExtractCheck, WhatDoesNotMatchInACutFileIsNotFalse) {
  knowledge::v1::Check check = Declared("bool", "degraded");
  check.clear_command();
  check.set_file("/var/log/site");
  FakeHost host("n1");
  host.AddFile("/var/log/site", "all fine so far");
  EXPECT_THAT(RunDeclared(check, host), IsOk());
  host.AddFile("/var/log/site", std::string(host::kFileBytes, 'x'));
  EXPECT_THAT(RunDeclared(check, host),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than is read")));
}

TEST(ExtractCheck, APatternThatCannotBeUsedIsRefused) {
  EXPECT_THAT(Extracted("int", "(\\d+", "1"), HasSubstr("cannot be used"));
  EXPECT_THAT(Extracted("int", "(\\d)(\\d)", "12"), HasSubstr("two groups"));
}

TEST(ExtractCheck, ReadsTheJobsViewWhereDeclared) {
  knowledge::v1::Check check = Declared("int", "x=(\\d+)");
  check.clear_command();
  check.set_file("/etc/site");
  check.set_in_job(true);
  FakeHost host("n1");
  host.AddFile("/etc/site", "x=1", host::View::kHost);
  host.AddFile("/etc/site", "x=2", host::View::kJob);
  const auto output = RunDeclared(check, host);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->findings.front().int_value(), 2);
}

}  // namespace
}  // namespace galen::node
