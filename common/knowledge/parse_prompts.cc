#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kPromptKeys[] = {"name", "version", "text", "most",
                                             "max_output_tokens"};
constexpr absl::string_view kPriceKeys[] = {"model", "input_per_million", "output_per_million",
                                            "currency", "reference"};
constexpr absl::string_view kBudgetKeys[] = {"scope", "calls", "input_tokens", "output_tokens",
                                             "money"};
constexpr double kMostWhole = 1e15;  // what a double counts exactly, and more than any budget

// A number of things; 0 when absent, and a problem when it is none.
std::int64_t Whole(const Fields& fields, absl::string_view key, double most = kMostWhole) {
  const std::optional<double> number = fields.Number(key);
  if (!number.has_value()) return 0;
  if (*number < 0 || *number > most || *number != std::floor(*number)) {
    fields.Error(fields.Find(key)->line, absl::StrCat("\"", key, "\" is ", *number),
                 absl::StrCat("write a whole number from 0 to ", static_cast<std::int64_t>(most)));
    return 0;
  }
  return static_cast<std::int64_t>(*number);
}

double Amount(const Fields& fields, absl::string_view key) {
  const std::optional<double> number = fields.Number(key);
  if (!number.has_value()) return 0;
  if (std::isfinite(*number) && *number >= 0 && *number <= 1e9) return *number;
  fields.Error(fields.Find(key)->line, absl::StrCat("\"", key, "\" is ", *number),
               "write an amount from 0 to 1e9");
  return 0;
}

}  // namespace

void ParsePrompts(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("prompts")) {
    const Fields fields(context, *node, "prompt", kPromptKeys);
    v1::Prompt prompt;
    prompt.set_name(fields.RequiredText("name"));
    prompt.set_version(static_cast<std::int32_t>(Whole(fields, "version", 1e6)));
    prompt.set_text(fields.RequiredText("text"));
    prompt.set_most(static_cast<std::int32_t>(Whole(fields, "most", 100)));
    prompt.set_max_output_tokens(
        static_cast<std::int32_t>(Whole(fields, "max_output_tokens", 100'000)));
    SetSource(context, node->line, *prompt.mutable_source());
    if (!prompt.name().empty()) entries.prompts.push_back(std::move(prompt));
  }
}

void ParsePrices(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("llm_prices")) {
    const Fields fields(context, *node, "price of a model", kPriceKeys);
    v1::LlmPrice price;
    price.set_model(fields.RequiredText("model"));
    price.set_input_per_million(Amount(fields, "input_per_million"));
    price.set_output_per_million(Amount(fields, "output_per_million"));
    price.set_currency(fields.RequiredText("currency"));
    price.set_reference(fields.Text("reference"));
    SetSource(context, node->line, *price.mutable_source());
    if (!price.model().empty()) entries.llm_prices.push_back(std::move(price));
  }
}

void ParseBudgets(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("llm_budgets")) {
    const Fields fields(context, *node, "budget of models", kBudgetKeys);
    v1::LlmBudget budget;
    budget.set_scope(fields.RequiredText("scope"));
    budget.set_calls(Whole(fields, "calls"));
    budget.set_input_tokens(Whole(fields, "input_tokens"));
    budget.set_output_tokens(Whole(fields, "output_tokens"));
    budget.set_money(Amount(fields, "money"));
    SetSource(context, node->line, *budget.mutable_source());
    if (!budget.scope().empty()) entries.llm_budgets.push_back(std::move(budget));
  }
}

}  // namespace galen::knowledge
