#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/knowledge/load.h"
#include "common/knowledge/prompt_slots.h"
#include "knowledge_files.h"

namespace galen::knowledge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The texts of the problems that reading and lint find in a file, without places and remedies.
std::vector<std::string> TextsOf(const std::string& yaml) {
  std::vector<std::string> texts;
  for (const Problem& problem : ProblemsOf(yaml)) texts.push_back(problem.text);
  return texts;
}

std::string Prompt(const std::string& name, const std::string& text,
                   const std::string& version = "1") {
  return "prompts:\n  - {name: " + name + ", version: " + version + ", text: '" + text + "'}\n";
}

TEST(Prompts, AreReadAsWritten) {
  KnowledgeFiles files;
  files.Write("p.yaml", R"(
prompts:
  - {name: rank, version: 7, most: 2, max_output_tokens: 300, text: 'Of {{choices}}, {{draft}}'}
llm_prices:
  - {model: 'small*', input_per_million: 0.15, output_per_million: 0.6, currency: EUR}
llm_budgets:
  - {scope: tenant_day, calls: 10, input_tokens: 1000, money: 2.5}
)");
  std::vector<Problem> problems;
  const auto base = Parse({files.path()}, problems);
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_THAT(problems, IsEmpty());
  const knowledge::v1::Prompt& prompt = base->prompts(0);
  EXPECT_EQ(prompt.version(), 7);
  EXPECT_EQ(prompt.most(), 2);
  EXPECT_EQ(prompt.max_output_tokens(), 300);
  EXPECT_EQ(prompt.text(), "Of {{choices}}, {{draft}}");
  EXPECT_DOUBLE_EQ(base->llm_prices(0).input_per_million(), 0.15);
  EXPECT_EQ(base->llm_budgets(0).input_tokens(), 1000);
  EXPECT_DOUBLE_EQ(base->llm_budgets(0).money(), 2.5);
}

TEST(Prompts, ASoundOneHasNoProblems) {
  EXPECT_THAT(TextsOf(Prompt("presume", "Of {{choices}}: {{draft}}")), IsEmpty());
}

TEST(Prompts, WhatIsWrongWithOneIsTold) {
  EXPECT_THAT(TextsOf(Prompt("presume", "Of {{choices}}")),
              ElementsAre(HasSubstr("prompt presume lacks {{draft}}")));
  EXPECT_THAT(TextsOf(Prompt("presume", "{{choices}} {{draft}} {{draft}}")),
              ElementsAre(HasSubstr("more than once {{draft}}")));
  EXPECT_THAT(TextsOf(Prompt("presume", "{{choices}} {{draft}} {{key}}")),
              ElementsAre(HasSubstr("{{key}}, which nothing fills in")));
  EXPECT_THAT(TextsOf(Prompt("presume", "{{choices}} {{draft}} {{key")),
              ElementsAre(HasSubstr("which nothing fills in")));
  EXPECT_THAT(TextsOf(Prompt("presume", "{{choices}} {{draft}}", "0")),
              ElementsAre(HasSubstr("prompt presume has no version")));
  EXPECT_THAT(TextsOf("prompts:\n  - {name: presume, text: '{{choices}} {{draft}}'}\n"),
              ElementsAre(HasSubstr("prompt presume has no version")));
  EXPECT_THAT(TextsOf(Prompt("orank", "x")),
              ElementsAre(HasSubstr("prompt orank is one that nothing asks")));
  EXPECT_THAT(TextsOf(Prompt("presume", std::string(17 * 1024, 'x') + "{{choices}} {{draft}}")),
              ElementsAre(HasSubstr("has a text of")));
}

TEST(Prompts, PricesAndBudgetsAreChecked) {
  EXPECT_THAT(TextsOf("llm_budgets:\n  - {scope: planet, calls: 1}\n"),
              ElementsAre(HasSubstr("planet")));
  EXPECT_THAT(TextsOf("llm_budgets:\n  - {scope: diagnosis, calls: -1}\n"),
              ElementsAre(HasSubstr("\"calls\" is -1")));
  EXPECT_THAT(TextsOf("llm_budgets:\n  - {scope: diagnosis, calls: 1.5}\n"),
              ElementsAre(HasSubstr("\"calls\" is 1.5")));
  EXPECT_THAT(TextsOf("llm_budgets:\n  - {scope: diagnosis, seconds: 60}\n"), IsEmpty());
  EXPECT_THAT(TextsOf("llm_calibrations:\n  - {model: a, built_in: maybe, right: 1, of: 2}\n"),
              ElementsAre(HasSubstr("maybe")));
  EXPECT_THAT(TextsOf("llm_calibrations:\n  - {model: a, built_in: first, right: 3, of: 2}\n"),
              ElementsAre(HasSubstr("3 right of 2")));
  EXPECT_THAT(TextsOf("llm_prices:\n"
                      "  - {model: a, input_per_million: 1, currency: USD}\n"
                      "  - {model: b, input_per_million: 1, currency: EUR}\n"),
              ElementsAre(HasSubstr("is in EUR, others are in USD")));
}

TEST(Prompts, ASiteReplacesOneByItsName) {
  KnowledgeFiles shipped;
  shipped.Write("p.yaml", Prompt("presume", "shipped {{choices}} {{draft}}"));
  KnowledgeFiles site;
  site.Write("p.yaml", Prompt("presume", "own {{choices}} {{draft}}", "2"));
  std::vector<Problem> problems;
  const auto base = Parse({shipped.path(), site.path()}, problems);
  ASSERT_TRUE(base.ok()) << base.status();
  ASSERT_EQ(base->prompts_size(), 1);
  EXPECT_EQ(base->prompts(0).version(), 2);
}

TEST(Prompts, SlotsAreFoundInTheirOrder) {
  EXPECT_THAT(SlotsIn("a {{b}} c {{d}}{{b}}"), ElementsAre("b", "d", "b"));
  EXPECT_THAT(SlotsIn("{ {b} } {"), IsEmpty());
}

}  // namespace
}  // namespace galen::knowledge
