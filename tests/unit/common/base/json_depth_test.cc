#include "common/base/json_depth.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/json_access.h"
#include "common/base/json_prune.h"

namespace galen {
namespace {

TEST(JsonDepth, CountsBracketsOutsideOfStrings) {
  EXPECT_FALSE(JsonNestsDeeperThan("", 0));
  EXPECT_FALSE(JsonNestsDeeperThan("7", 0));
  EXPECT_TRUE(JsonNestsDeeperThan("[]", 0));
  EXPECT_FALSE(JsonNestsDeeperThan(R"({"a": [1, {"b": 2}], "c": [[]]})", 3));
  EXPECT_TRUE(JsonNestsDeeperThan(R"({"a": [1, {"b": 2}], "c": [[]]})", 2));
  EXPECT_FALSE(JsonNestsDeeperThan(R"(["[[[[", "\"[[[[", "\\"])", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(R"(["\\", [1]])", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(std::string(1'000'000, '['), 64));
  EXPECT_FALSE(JsonNestsDeeperThan(std::string(1'000'000, ']'), 64));
}

TEST(JsonDepth, CountsValuesHoweverShortTheyAreWritten) {
  const auto keeps = [](std::size_t values, const std::string& text) {
    return JsonKeepsTo({.depth = 64, .values = values}, text);
  };
  EXPECT_TRUE(keeps(1, "7"));
  EXPECT_TRUE(keeps(4, R"([1,2,"a,b,[{"])"));
  EXPECT_FALSE(keeps(3, "[1,2,3]"));
  EXPECT_FALSE(keeps(4, R"({"a":[1],"b":2,"c":3})"));
  std::string empties = "[";
  for (int i = 0; i < 300'000; ++i) empties += "{},";
  EXPECT_FALSE(JsonKeepsTo({}, empties + "{}]"));
  EXPECT_FALSE(JsonKeepsTo({}, empties));  // cut off
}

TEST(ParseJson, GivesNothingOfWhatDoesNotKeepToItsLimits) {
  std::string empties = "[";
  for (int i = 0; i < 1000; ++i) empties += "{},";
  empties += "{}]";
  EXPECT_TRUE(ParseJson(empties).is_array());
  EXPECT_TRUE(ParseJson(empties, {.values = 1000}).is_discarded());
  EXPECT_TRUE(ParseJson("[[1]]", {.depth = 1}).is_discarded());
  // As captured output that takes a gigabyte of a parser which begins to read it.
  EXPECT_TRUE(ParseJson(std::string(8 << 20, '[')).is_discarded());
  EXPECT_TRUE(ParseJson<nlohmann::ordered_json>(R"({"b":1,"a":2})").is_object());
}

TEST(PrunedJson, HasNullForWhatIsDeepAndKeepsTheRest) {
  EXPECT_EQ(PrunedJson(R"([{"a":{"b":[1,"]"]},"c":2},[[3]],4])", 2),
            R"([{"a":null,"c":2},[null],4])");
  EXPECT_EQ(PrunedJson(R"([{"a":"[[{\"[","b":[]}])", 2), R"([{"a":"[[{\"[","b":null}])");
  EXPECT_EQ(PrunedJson(R"([{"a":1}])", 2), R"([{"a":1}])");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(ParseJson(PrunedJson("[" + deep + ",7]")).back(), 7);
}

TEST(PrunedJson, MakesNoJsonOfWhatIsNone) {
  for (const std::string& text : {std::string(8 << 20, '['), std::string(1000, '['),
                                  std::string("[1]]"), std::string("]["), std::string("[\"\\")}) {
    EXPECT_TRUE(ParseJson(PrunedJson(text)).is_discarded());
  }
}

}  // namespace
}  // namespace galen
