#include "common/knowledge/rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace galen::knowledge {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using v1::Rule;

Finding Named(const std::string& name, const std::string& device = "") {
  Finding finding;
  finding.set_name(name);
  finding.mutable_subject()->set_device(device);
  return finding;
}

Finding Bool(bool value) {
  Finding finding = Named("f");
  finding.set_bool_value(value);
  return finding;
}

Finding Int(int64_t value, const std::string& name = "f", const std::string& device = "") {
  Finding finding = Named(name, device);
  finding.set_int_value(value);
  return finding;
}

Finding Double(double value) {
  Finding finding = Named("f");
  finding.set_double_value(value);
  return finding;
}

Finding Text(const std::string& value) {
  Finding finding = Named("f");
  finding.set_text_value(value);
  return finding;
}

Finding Event(const std::string& code, const std::string& line = "") {
  Finding finding = Named("f");
  finding.mutable_event_value()->set_code(code);
  finding.mutable_event_value()->set_text(line);
  return finding;
}

Rule MakeRule(Rule::Op op, const std::string& value) {
  Rule rule;
  rule.set_check("area.check");
  rule.set_finding("f");
  rule.set_op(op);
  rule.set_value(value);
  return rule;
}

Truth Judge(const Finding& finding, Rule::Op op, const std::string& value) {
  return Compare(MakeRule(op, value), finding, CheckResult());
}

struct Case {
  Finding finding;
  Rule::Op op;
  std::string value;
  Truth truth;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    EXPECT_EQ(Judge(each.finding, each.op, each.value), each.truth)
        << ValueText(each.finding) << " " << Rule::Op_Name(each.op) << " " << each.value;
  }
}

TEST(Compare, ReadsNumbersAsNumbers) {
  ExpectAll({{Int(3), Rule::GT, "0", Truth::kTrue},
             {Int(0), Rule::GT, "0", Truth::kFalse},
             {Int(10), Rule::LT, "9", Truth::kFalse},
             {Int(512), Rule::GE, "512", Truth::kTrue},
             {Int(512), Rule::LE, "511.5", Truth::kFalse},
             {Int(14), Rule::EQ, "14", Truth::kTrue},
             {Double(2e-11), Rule::GT, "1e-12", Truth::kTrue},
             {Double(0.1 + 0.2), Rule::EQ, "0.3", Truth::kTrue},
             {Double(400), Rule::EQ, "400 Gb/s", Truth::kTrue},
             {Int(3), Rule::NE, "none", Truth::kTrue},
             {Double(std::numeric_limits<double>::infinity()), Rule::EQ, "unlimited", Truth::kTrue},
             {Int(1), Rule::EQ, "many", Truth::kUnknown},
             {Int(1), Rule::GT, "", Truth::kUnknown}});
}

TEST(Compare, ReadsVersionsPartByPart) {
  ExpectAll({{Text("535.161.08"), Rule::LT, "535.183.01", Truth::kTrue},
             {Text("2.9.6"), Rule::LT, "2.21.5", Truth::kTrue},
             {Text("12.10"), Rule::GT, "12.4", Truth::kTrue},
             {Text("12.4"), Rule::EQ, "12.4.0", Truth::kTrue},
             {Text("535.161.8"), Rule::EQ, "535.161.08", Truth::kTrue},
             {Text("v2.21.5-1"), Rule::GE, "2.21.5", Truth::kTrue},
             {Text("20.10.21"), Rule::LT, "20.10.10", Truth::kFalse},
             {Text("unknown build"), Rule::LT, "2.23", Truth::kUnknown}});
}

TEST(Compare, ReadsBoolsAsWords) {
  ExpectAll({{Bool(true), Rule::EQ, "true", Truth::kTrue},
             {Bool(false), Rule::EQ, "true", Truth::kFalse},
             {Bool(false), Rule::NE, "true", Truth::kTrue},
             {Bool(true), Rule::EQ, "none", Truth::kUnknown},
             {Bool(true), Rule::GT, "false", Truth::kUnknown}});
}

TEST(Compare, IgnoresCaseInTexts) {
  ExpectAll({{Text("Active"), Rule::EQ, "ACTIVE", Truth::kTrue},
             {Text("Down"), Rule::NE, "ACTIVE", Truth::kTrue},
             {Text(""), Rule::EQ, "none", Truth::kTrue},
             {Text("None"), Rule::EQ, "none", Truth::kTrue},
             {Text("mlx5_9"), Rule::NE, "none", Truth::kTrue},
             {Text("uses /opt/Compat"), Rule::CONTAINS, "compat", Truth::kTrue},
             {Text("a"), Rule::LACKS, "port", Truth::kTrue},
             {Text("a port"), Rule::LACKS, "port", Truth::kFalse},
             {Text("Down"), Rule::LT, "ACTIVE", Truth::kUnknown}});
}

TEST(Compare, TakesListsByComma) {
  ExpectAll({{Int(803), Rule::IN, "803,804", Truth::kTrue},
             {Int(803), Rule::IN, " 801 , 803 ", Truth::kTrue},
             {Int(80), Rule::IN, "803,804", Truth::kFalse},
             {Text("gpu_reset"), Rule::IN, "GPU_RESET,NODE_REBOOT", Truth::kTrue},
             {Text("none"), Rule::NOT_IN, "a,b", Truth::kTrue},
             {Int(1), Rule::IN, "a,b", Truth::kUnknown},
             {Int(1), Rule::IN, "", Truth::kUnknown}});
}

TEST(Compare, ReadsAnEventByItsCode) {
  ExpectAll(
      {{Event("48"), Rule::IN, "48,94,95", Truth::kTrue},
       {Event("480"), Rule::IN, "48,94,95", Truth::kFalse},
       {Event("xid48"), Rule::EQ, "48", Truth::kTrue},
       {Event("48"), Rule::IN, "xid48,xid79", Truth::kTrue},
       {Event("oom_kill", "Memory cgroup out of memory: Killed process 7"), Rule::CONTAINS,
        "cgroup", Truth::kTrue},
       {Event("20034", "SXid: 20034, Fatal, Link 30"), Rule::CONTAINS, ", fatal", Truth::kTrue},
       {Event("20034", "SXid: 20034, Non-fatal, Link 30"), Rule::CONTAINS, ", fatal",
        Truth::kFalse},
       {Event("48"), Rule::NE, "none", Truth::kTrue},
       {Event(""), Rule::EQ, "none", Truth::kTrue}});
}

TEST(Compare, NeverTakesUnknownForFalse) {
  const Finding unknown = Named("f");
  for (const Rule::Op op : {Rule::EQ, Rule::NE, Rule::LT, Rule::IN, Rule::NOT_IN, Rule::CONTAINS,
                            Rule::LACKS, Rule::OP_UNSPECIFIED}) {
    EXPECT_EQ(Judge(unknown, op, "1"), Truth::kUnknown) << Rule::Op_Name(op);
  }
  EXPECT_EQ(ValueText(unknown), "unknown");
}

TEST(Compare, ResolvesExpectedFromTheFindingItself) {
  Finding rate = Int(200);
  EXPECT_EQ(Judge(rate, Rule::LT, "expected"), Truth::kUnknown);
  rate.set_expected("400 Gb/s");
  EXPECT_EQ(Judge(rate, Rule::LT, "expected"), Truth::kTrue);
  rate.set_expected("the rate of the switch");
  EXPECT_EQ(Judge(rate, Rule::LT, "expected"), Truth::kUnknown);
}

TEST(Compare, ResolvesAnotherFindingOfTheSameSubject) {
  CheckResult result;
  *result.add_findings() = Int(700, "default_limit_w", "gpu:0");
  *result.add_findings() = Int(400, "default_limit_w", "gpu:1");
  const Rule rule = MakeRule(Rule::LT, "default_limit_w");
  EXPECT_EQ(Compare(rule, Int(400, "f", "gpu:0"), result), Truth::kTrue);
  EXPECT_EQ(Compare(rule, Int(400, "f", "gpu:1"), result), Truth::kFalse);
  EXPECT_EQ(Compare(rule, Int(400, "f", "gpu:2"), result), Truth::kUnknown);
}

TEST(Compare, ResolvesAReferenceWordFromTheFindingThatSaysIt) {
  CheckResult result;
  *result.add_findings() = Int(8, "gpu_count_expected");
  EXPECT_EQ(Compare(MakeRule(Rule::LT, "expected"), Int(7), result), Truth::kTrue);
  EXPECT_EQ(Compare(MakeRule(Rule::LT, "expected"), Int(8), result), Truth::kFalse);
  EXPECT_EQ(Compare(MakeRule(Rule::LT, "capacity"), Int(7), result), Truth::kUnknown);
  result.mutable_findings(0)->clear_value();
  EXPECT_EQ(Compare(MakeRule(Rule::LT, "expected"), Int(7), result), Truth::kUnknown);
}

TEST(ValueText, ShowsWhatWasSeen) {
  EXPECT_EQ(ValueText(Bool(true)), "true");
  EXPECT_EQ(ValueText(Int(17)), "17");
  EXPECT_EQ(ValueText(Double(0.5)), "0.5");
  EXPECT_EQ(ValueText(Text("")), "none");
  EXPECT_EQ(ValueText(Event("48", "line")), "48");
}

}  // namespace
}  // namespace galen::knowledge
