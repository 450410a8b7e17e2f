#include "common/reasoner/llm/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/reasoner/llm/turn_form.h"

namespace galen::reasoner::llm {
namespace {

using ::testing::ElementsAre;

Json J(absl::string_view text) {
  auto json = ParseObject(text);
  EXPECT_TRUE(json.ok()) << json.status() << "\n" << text;
  return json.ok() ? *json : Json::object();
}

template <typename Causes>
std::vector<std::string> Labels(const Causes& causes) {
  std::vector<std::string> labels;
  for (const auto& cause : causes) labels.push_back(cause.label());
  return labels;
}

v1::PresumeAnswer Offered() {
  v1::PresumeAnswer answer;
  double probability = 0.5;
  for (const char* label : {"A.B.C", "A.B.D", "E.F.G"}) {
    auto& cause = *answer.add_causes();
    cause.set_label(label);
    cause.set_probability(probability);
    cause.set_reason(std::string("resembles ") + label);
    cause.add_incidents("i");
    probability -= 0.1;
  }
  return answer;
}

TEST(Drafts, TakenAsTheyAreChangeNothing) {
  EXPECT_THAT(Labels(TakePresume(PresumeForm(Offered(), 2).draft, Offered(), 2)->causes()),
              ElementsAre("A.B.C", "A.B.D"));
}

TEST(Presume, IsReorderedWithinWhatIsOffered) {
  const struct {
    const char* answer;
    std::vector<std::string> labels;  // empty: refused
  } kCases[] = {
      {R"({"causes": [{"label": "A.B.D", "reason": ""}, {"label": "A.B.C", "reason": ""}]})",
       {"A.B.D", "A.B.C"}},
      // The first cause of the rules is tested in any case.
      {R"({"causes": [{"label": "E.F.G"}, {"label": "A.B.D"}]})", {"E.F.G", "A.B.C"}},
      {R"({"causes": [{"label": "E.F.G"}]})", {"E.F.G", "A.B.C"}},
      {R"({"causes": []})", {"A.B.C", "A.B.D"}},
      {R"({"causes": [{"label": "A.B.C"}, {"label": "A.B.C"}]})", {}},
      {R"({"causes": [{"label": "X.Y.Z"}]})", {}},
      {R"({"causes": [{"label": "a.b.c"}]})", {}},
      {R"({"causes": [{"label": 7}]})", {}},
      {R"({"causes": ["A.B.C"]})", {}},
      {R"({"causes": "A.B.C"})", {}},
      {R"({"answer": []})", {}},
  };
  for (const auto& c : kCases) {
    const auto taken = TakePresume(J(c.answer), Offered(), 2);
    ASSERT_EQ(taken.ok(), !c.labels.empty()) << c.answer;
    if (!taken.ok()) continue;
    EXPECT_EQ(Labels(taken->causes()), c.labels) << c.answer;
  }
}

TEST(Presume, KeepsWhatTheRulesSaidOfEachCause) {
  const auto taken = TakePresume(
      J(R"({"causes": [{"label": "E.F.G", "reason": "sure", "probability": 1}]})"), Offered(), 1);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(Labels(taken->causes()), ElementsAre("A.B.C"));
  const auto two =
      TakePresume(J(R"({"causes": [{"label": "E.F.G", "reason": "sure"}]})"), Offered(), 2);
  EXPECT_EQ(two->causes(0).reason(), "resembles E.F.G");
  EXPECT_LE(two->causes(0).probability(), 0.5);
}

TEST(Thoughts, AreTextsOrAbsent) {
  EXPECT_EQ(ThoughtsOf(J(R"({"thoughts": {"critique": "but"}})"))->critique, "but");
  EXPECT_TRUE(ThoughtsOf(J("{}"))->proposition.empty());
  EXPECT_FALSE(ThoughtsOf(J(R"({"thoughts": "none"})")).ok());
  EXPECT_FALSE(ThoughtsOf(J(R"({"thoughts": {"critique": 3}})")).ok());
}

TEST(Schemas, EnumerateTheChoicesAndAllowNothingElse) {
  const Json schema = PresumeForm(Offered(), 2).schema;
  const Json& cause = schema["properties"]["causes"]["items"];
  EXPECT_EQ(cause["properties"]["label"]["enum"], Json::array({"A.B.C", "A.B.D", "E.F.G"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(cause["additionalProperties"], false);
}

// Every text and every list of a schema has a bound: without one an answer may reach its token
// limit and is then invalid.
void ExpectBounded(const Json& schema, const std::string& where) {
  if (schema.value("type", "") == "string") {
    EXPECT_TRUE(schema.contains("enum") || schema.contains("maxLength")) << where;
  }
  if (schema.value("type", "") == "array") {
    EXPECT_TRUE(schema.contains("maxItems")) << where;
    ExpectBounded(schema["items"], where + "[]");
  }
  if (schema.contains("properties")) {
    for (const auto& [name, member] : schema["properties"].items()) {
      ExpectBounded(member, where + "." + name);
    }
  }
}

TEST(Schemas, AreBoundedAndPutThoughtsFirst) {
  const Json schemas[] = {PresumeForm(Offered(), 2).schema, TurnSchema({}),
                          TurnSchema({.calls = false}), TurnSchema({.run_checks = false})};
  for (const Json& schema : schemas) {
    ExpectBounded(schema, "");
    // As it goes over the wire: models answer in this order.
    const std::string text = Dump(schema);
    EXPECT_LT(text.find("\"thoughts\""), text.find("\"additionalProperties\""));
    EXPECT_EQ(schema["properties"].begin().key(), "thoughts");
    EXPECT_EQ(schema["required"][0], "thoughts");
    EXPECT_EQ(schema["properties"]["thoughts"]["required"],
              Json::array({"proposition", "critique", "refinement"}));
  }
}

TEST(Turn, AsksOnlyForWhatTheToolsCanExpress) {
  const auto turn = TurnOf(J(R"({"calls": [
      {"tool": "search", "of": "train.log", "node": "", "text": "timeout|refused", "line": 0},
      {"tool": "read_lines", "of": "train.log", "line": 40},
      {"tool": "run_checks", "of": "gpu.ecc, rdma.link"}], "verdicts": []})"));
  ASSERT_TRUE(turn.ok()) << turn.status();
  ASSERT_EQ(turn->calls.size(), 3u);
  EXPECT_EQ(turn->calls[0].search().pattern(), "timeout|refused");
  EXPECT_EQ(turn->calls[1].read_lines().line(), 40);
  EXPECT_THAT(turn->calls[2].run_checks().checks(), ElementsAre("gpu.ecc", "rdma.link"));
  for (const char* answer :
       {R"({"calls": [{"tool": "run_command", "of": "rm -rf /"}], "verdicts": []})",
        R"({"calls": [{"tool": "repair", "of": "n1"}], "verdicts": []})",
        R"({"calls": [{"tool": "read_lines", "of": "x", "line": "all"}], "verdicts": []})",
        R"({"calls": "search", "verdicts": []})", R"({"calls": []})",
        R"({"calls": [], "verdicts": [{"label": "A", "verdict": "approve", "reason": "",
            "citations": []}]})"}) {
    EXPECT_FALSE(TurnOf(J(answer)).ok()) << answer;
  }
}

TEST(Turn, ByToolsOfTheProtocolSaysTheSame) {
  galen::llm::ChatAnswer answer;
  answer.tool_uses = {{"a", "show_check", R"({"check": "gpu.ecc", "node": "n1"})"},
                      {"b", "run_checks", R"({"checks": ["rdma.link", "gpu.ecc"]})"},
                      {"c", "search", "not json"}};
  const auto turn = TurnOf(TurnOfTools(answer));
  ASSERT_TRUE(turn.ok()) << turn.status();
  ASSERT_EQ(turn->calls.size(), 3u);
  EXPECT_EQ(turn->calls[0].show_check().node(), "n1");
  EXPECT_THAT(turn->calls[1].run_checks().checks(), ElementsAre("rdma.link", "gpu.ecc"));
  EXPECT_EQ(turn->calls[2].search().pattern(), "");
  answer.tool_uses = {{"d", "conclude", R"({"verdicts": [{"label": "A.B.C", "verdict": "confirm",
      "reason": "r", "citations": [{"of": "log", "line": 3, "quote": "q"}]}],
      "explanation": "e", "suggestions": []})"}};
  const auto end = TurnOf(TurnOfTools(answer));
  ASSERT_TRUE(end.ok()) << end.status();
  ASSERT_EQ(end->opinions.size(), 1u);
  EXPECT_EQ(end->opinions[0].quotes[0].line, 3);
  EXPECT_EQ(end->explanation, "e");
}

}  // namespace
}  // namespace galen::reasoner::llm
