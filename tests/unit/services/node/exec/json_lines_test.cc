#include "services/node/exec/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

class JsonLinesTest : public ::testing::Test {
 protected:
  JsonLinesTest() {
    check_.set_name("site.check");
    for (const auto& [name, type] : {std::pair{"good", "bool"},
                                     {"count", "int"},
                                     {"rate", "float"},
                                     {"word", "text"},
                                     {"seen", "event"}}) {
      knowledge::v1::FindingSpec& finding = *check_.add_findings();
      finding.set_name(name);
      finding.set_type(type);
    }
  }

  absl::StatusOr<CheckOutput> Parse(const std::string& text) {
    host::CommandResult result;
    result.out = text;
    const CheckContext context{.host = host_, .knowledge = knowledge_};
    return ParseJsonLines({.check = check_, .context = context, .result = result});
  }
  void ExpectRefused(const std::string& text, const std::string& why) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(why))) << text;
  }

  knowledge::v1::Check check_;
  testing::FakeHost host_{"n1"};
  knowledge::Knowledge knowledge_{knowledge::v1::KnowledgeBase()};
};

TEST_F(JsonLinesTest, FindingsOfEveryTypeAreRead) {
  const auto output = Parse(R"({"progress": 0.5, "message": "half"}
{"finding": "good", "value": true}

{"finding": "count", "value": -3, "device": "gpu:1", "pci_address": "0000:b3:00.0"}
{"finding": "rate", "value": 2, "expected": "at least 4"}
{"finding": "word", "value": "né"}
{"finding": "seen", "value": {"code": "48", "text": "Xid 48", "count": 2}, "device": "gpu:0"}
{"finding": "rate", "value": null, "device": "gpu:2"}
{"message": "two of three"}
)");
  ASSERT_THAT(output, IsOk());
  ASSERT_THAT(output->findings, SizeIs(6));
  EXPECT_TRUE(output->findings[0].bool_value());
  EXPECT_EQ(output->findings[1].int_value(), -3);
  EXPECT_EQ(output->findings[1].subject().device(), "gpu:1");
  EXPECT_EQ(output->findings[1].subject().pci_address(), "0000:b3:00.0");
  EXPECT_EQ(output->findings[2].double_value(), 2);
  EXPECT_EQ(output->findings[2].expected(), "at least 4");
  EXPECT_EQ(output->findings[4].event_value().count(), 2);
  EXPECT_EQ(output->findings[5].value_case(), galen::v1::Finding::VALUE_NOT_SET);
  EXPECT_EQ(output->message, "two of three");
}

TEST_F(JsonLinesTest, WhatIsNotOfTheContractIsRefusedWithItsLine) {
  const std::string good = "{\"finding\": \"good\", \"value\": true}\n";
  ExpectRefused(good + "done\n", "line 2 is not a JSON object");
  ExpectRefused(good + "[1]\n", "line 2 is not a JSON object");
  ExpectRefused(good + "{\"finding\": \"other\", \"value\": 1}\n",
                "line 2 names finding \"other\", which the check does not declare");
  ExpectRefused("{\"finding\": \"count\", \"value\": 1.5}\n", "not of type int");
  ExpectRefused("{\"finding\": \"count\", \"value\": 99999999999999999999}\n", "not of type int");
  ExpectRefused("{\"finding\": \"count\", \"value\": 18446744073709551615}\n", "not of type int");
  ExpectRefused("{\"finding\": \"good\", \"value\": 1}\n", "not of type bool");
  ExpectRefused("{\"finding\": \"rate\", \"value\": \"fast\"}\n", "not of type float");
  ExpectRefused("{\"finding\": \"good\"}\n", "has no \"value\"");
  ExpectRefused("{\"finding\": \"good\", \"value\": true, \"unit\": \"x\"}\n", "has \"unit\"");
  ExpectRefused("{\"finding\": 3, \"value\": true}\n", "\"finding\" is not a string");
  ExpectRefused("{\"finding\": \"seen\", \"value\": {\"count\": 0}}\n", "\"count\"");
  ExpectRefused("{}\n", "has neither");
  ExpectRefused("{\"message\": \"\xff\"}\n", "is not UTF-8");
  ExpectRefused("{\"message\": \"" + std::string(20000, 'a') + "\"}\n", "is longer than");
  ExpectRefused(std::string(10000, '['), "is not a JSON object");
  ExpectRefused("", "gave no finding");
  ExpectRefused("{\"message\": \"all is well\"}\n", "gave no finding");
}

TEST_F(JsonLinesTest, AProgramMaySayThatItDoesNotApply) {
  EXPECT_THAT(Parse("{\"skip\": \"no such card here\"}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no such card here"));
  EXPECT_THAT(Parse("{\"error\": \"the card did not answer\"}\n"),
              StatusIs(absl::StatusCode::kAborted, "the card did not answer"));
}

TEST_F(JsonLinesTest, AFloodOfFindingsIsRefused) {
  std::string text;
  for (int i = 0; i < 10001; ++i) text += "{\"finding\": \"good\", \"value\": true}\n";
  ExpectRefused(text, "too many");
}

TEST(JsonLinesProgress, TellsProgressAsItComesInPieces) {
  std::vector<std::pair<double, std::string>> told;
  JsonLinesProgress progress(
      [&](double done, absl::string_view what) { told.emplace_back(done, std::string(what)); });
  progress.Take("{\"progress\": 0.25, \"mess");
  EXPECT_THAT(told, SizeIs(0));
  progress.Take("age\": \"first\"}\njunk\n{\"progress\": 0.5}\n{\"progress\": \"x\"}\n");
  progress.Take(std::string(100'000, 'x'));
  progress.Take("\"progress\"\n{\"progress\": 1}\n");
  EXPECT_THAT(told, ElementsAre(Pair(0.25, "first"), Pair(0.5, ""), Pair(1, "")));
}

}  // namespace
}  // namespace galen::node
