#include "common/reasoner/llm/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen::reasoner::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseObject, TakesAnObjectAndNothingElse) {
  const struct {
    const char* what;
    std::string text;
    const char* problem;  // "" when it is taken
  } kCases[] = {
      {"plain", R"({"a": 1})", ""},
      {"with spaces", " \n{}\n", ""},
      {"fenced", "```json\n{\"a\": 1}\n```", ""},
      {"fenced without a name", "```\n{}\n```\n", ""},
      {"empty", "", "is empty"},
      {"only spaces", "  \n", "is empty"},
      {"words", "The cause is the GPU.", "is not JSON"},
      {"words before it", "Sure: {}", "is not JSON"},
      {"cut off", R"({"a": [1, 2)", "is not JSON"},
      {"a list", "[1]", "is not a JSON object"},
      {"a number", "7", "is not a JSON object"},
      {"no UTF-8", "{\"a\": \"\xff\"}", "is not UTF-8"},
      {"too long", "{\"a\": \"" + std::string(kMaxAnswerBytes, 'x') + "\"}", "more than 65536"},
      {"too deep", std::string(60'000, '['), "nested too deeply"},
      {"brackets in a text", R"({"a": "[[[[[[[[[[[[[[[[[[[[[[["})", ""},
      {"an escaped quote", R"({"a": "\"[[[[[[[[[[[[[[[[[[[[[[["})", ""},
  };
  for (const auto& c : kCases) {
    const auto json = ParseObject(c.text);
    if (*c.problem == '\0') {
      EXPECT_TRUE(json.ok()) << c.what << ": " << json.status();
      continue;
    }
    ASSERT_FALSE(json.ok()) << c.what;
    EXPECT_EQ(json.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(json.status().message()), HasSubstr(c.problem)) << c.what;
  }
}

TEST(Members, AreOfTheirKindOrRefused) {
  const Json json = *ParseObject(
      R"({"t": "a\u001b[31mb", "n": 3, "l": ["x", "y"], "d": ["x", "x"], "m": ["x", 1],
          "o": [{"a": 1}, {"a": 2}], "z": null})");
  EXPECT_EQ(*TextOf(json, "t", 100), "ab");
  EXPECT_EQ(*TextOf(json, "none", 100, true), "");
  EXPECT_FALSE(TextOf(json, "none", 100).ok());
  EXPECT_FALSE(TextOf(json, "z", 100).ok());
  EXPECT_FALSE(TextOf(json, "n", 100).ok());
  EXPECT_THAT(*ChoicesOf(json, "l", {"x", "y", "w"}), ElementsAre("x", "y"));
  EXPECT_FALSE(ChoicesOf(json, "l", {"x"}).ok());
  EXPECT_FALSE(ChoicesOf(json, "d", {"x"}).ok());
  EXPECT_FALSE(ChoicesOf(json, "m", {"x"}).ok());
  EXPECT_FALSE(ChoicesOf(json, "t", {"x"}).ok());
  EXPECT_THAT(*TextsOf(json, "l", 100, 1), ElementsAre("x"));
  EXPECT_EQ(ObjectsOf(json, "o", 2)->size(), 2u);
  EXPECT_FALSE(ObjectsOf(json, "o", 1).ok());
  EXPECT_FALSE(ObjectsOf(json, "l", 9).ok());
}

TEST(Members, AnAnswerThatWasNotOfferedIsToldInBounds) {
  const Json json = *ParseObject(R"({"l": ")" + std::string(5000, 'A') + "\"}");
  const auto choice = ChoiceOf(json, "l", {"B"});
  ASSERT_FALSE(choice.ok());
  EXPECT_THAT(std::string(choice.status().message()), HasSubstr("was not offered"));
  EXPECT_LT(choice.status().message().size(), 200u);
}

}  // namespace
}  // namespace galen::reasoner::llm
