#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kPromptKeys[] = {"name", "version", "text", "most",
                                             "max_output_tokens"};
constexpr absl::string_view kPriceKeys[] = {"model", "input_per_million", "output_per_million",
                                            "currency", "reference"};
constexpr absl::string_view kBudgetKeys[] = {"scope",         "calls", "input_tokens",
                                             "output_tokens", "money", "seconds"};
constexpr absl::string_view kCalibrationKeys[] = {"model", "built_in", "right", "of"};
constexpr double kMostWhole = 1e15;  // what a double counts exactly, and more than any budget

// A whole number; 0 when absent, and a problem when it is invalid.
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

// Reads each entry of a list with `fill`, which gives its name; one without a name is left out.
template <typename Entry, typename Fill>
void ParseEach(const FileContext& context, const std::vector<const YamlNode*>& nodes,
               absl::string_view what, absl::Span<const absl::string_view> keys,
               std::vector<Entry>& entries, Fill fill) {
  for (const YamlNode* node : nodes) {
    const Fields fields(context, *node, what, keys);
    Entry entry;
    const bool named = !fill(fields, entry).empty();
    SetSource(context, node->line, *entry.mutable_source());
    if (named) entries.push_back(std::move(entry));
  }
}

}  // namespace

void ParsePrompts(const FileContext& context, const Fields& file, Entries& entries) {
  ParseEach(context, file.Entries("prompts"), "prompt", kPromptKeys, entries.prompts,
            [](const Fields& fields, v1::Prompt& prompt) -> const std::string& {
              prompt.set_name(fields.RequiredText("name"));
              prompt.set_version(static_cast<std::int32_t>(Whole(fields, "version", 1e6)));
              prompt.set_text(fields.RequiredText("text"));
              prompt.set_most(static_cast<std::int32_t>(Whole(fields, "most", 100)));
              prompt.set_max_output_tokens(
                  static_cast<std::int32_t>(Whole(fields, "max_output_tokens", 100'000)));
              return prompt.name();
            });
}

void ParsePrices(const FileContext& context, const Fields& file, Entries& entries) {
  ParseEach(context, file.Entries("llm_prices"), "price of a model", kPriceKeys, entries.llm_prices,
            [](const Fields& fields, v1::LlmPrice& price) -> const std::string& {
              price.set_model(fields.RequiredText("model"));
              price.set_input_per_million(Amount(fields, "input_per_million"));
              price.set_output_per_million(Amount(fields, "output_per_million"));
              price.set_currency(fields.RequiredText("currency"));
              price.set_reference(fields.Text("reference"));
              return price.model();
            });
}

void ParseBudgets(const FileContext& context, const Fields& file, Entries& entries) {
  ParseEach(context, file.Entries("llm_budgets"), "budget of models", kBudgetKeys,
            entries.llm_budgets,
            [](const Fields& fields, v1::LlmBudget& budget) -> const std::string& {
              budget.set_scope(fields.RequiredText("scope"));
              budget.set_calls(Whole(fields, "calls"));
              budget.set_input_tokens(Whole(fields, "input_tokens"));
              budget.set_output_tokens(Whole(fields, "output_tokens"));
              budget.set_money(Amount(fields, "money"));
              budget.set_seconds(Whole(fields, "seconds"));
              return budget.scope();
            });
}

void ParseCalibrations(const FileContext& context, const Fields& file, Entries& entries) {
  ParseEach(context, file.Entries("llm_calibrations"), "calibration of models", kCalibrationKeys,
            entries.llm_calibrations,
            [](const Fields& fields, v1::LlmCalibration& one) -> const std::string& {
              one.set_model(fields.RequiredText("model"));
              one.set_built_in(fields.RequiredText("built_in"));
              one.set_right(Whole(fields, "right"));
              one.set_of(Whole(fields, "of"));
              return one.model();
            });
}

}  // namespace galen::knowledge
