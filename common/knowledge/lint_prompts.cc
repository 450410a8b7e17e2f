#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/knowledge/lint.h"
#include "common/knowledge/prompt_slots.h"

namespace galen::knowledge {
namespace {

constexpr std::size_t kMaxText = 16 * 1024;
constexpr absl::string_view kScopes[] = {"diagnosis", "tenant_day"};
constexpr absl::string_view kBuiltIn[] = {"first", "likely", "unlikely"};

std::string Slot(absl::string_view name) { return absl::StrCat("{{", name, "}}"); }

void LintPrompt(LintContext& context, const v1::Prompt& prompt) {
  const std::string who = absl::StrCat("prompt ", prompt.name());
  const PromptSlots* const known = FindPromptSlots(prompt.name());
  if (known == nullptr) {
    context.Error(prompt.source(), absl::StrCat(who, " is one that nothing asks"),
                  absl::StrCat("name one of ", absl::StrJoin(PromptNames(), ", ")));
    return;
  }
  if (prompt.version() < 1) {
    context.Error(prompt.source(), absl::StrCat(who, " has no version"),
                  "add `version: 1`, and raise it with every change of the text");
  }
  if (prompt.text().size() > kMaxText) {
    context.Error(prompt.source(),
                  absl::StrCat(who, " has a text of ", prompt.text().size(), " bytes"),
                  absl::StrCat("write at most ", kMaxText));
  }
  const std::vector<std::string> slots = SlotsIn(prompt.text());
  for (const absl::string_view slot : known->slots) {
    const auto times = std::count(slots.begin(), slots.end(), slot);
    if (times == 1) continue;
    context.Error(
        prompt.source(),
        absl::StrCat(who, times == 0 ? " lacks " : " has more than once ", Slot(slot)),
        times == 0 ? "put it where that part of the question belongs" : "keep one of them");
  }
  for (const std::string& slot : slots) {
    if (std::find(known->slots.begin(), known->slots.end(), slot) != known->slots.end()) continue;
    context.Error(prompt.source(),
                  absl::StrCat(who, " has ", Slot(slot), ", which nothing fills in"),
                  absl::StrCat("it may hold ",
                               absl::StrJoin(known->slots, ", ", [](std::string* out, auto name) {
                                 absl::StrAppend(out, Slot(name));
                               })));
  }
}

}  // namespace

void LintPrompts(LintContext& context) {
  LintDuplicates(context, "prompt", context.base.prompts(),
                 [](const v1::Prompt& prompt) { return prompt.name(); });
  for (const v1::Prompt& prompt : context.base.prompts()) LintPrompt(context, prompt);
  LintDuplicates(context, "price of model", context.base.llm_prices(),
                 [](const v1::LlmPrice& price) { return price.model(); });
  for (const v1::LlmPrice& price : context.base.llm_prices()) {
    if (price.currency() == context.base.llm_prices(0).currency()) continue;
    context.Error(price.source(),
                  absl::StrCat("the price of model ", price.model(), " is in ", price.currency(),
                               ", others are in ", context.base.llm_prices(0).currency()),
                  "write all prices in one currency: budgets are in it too");
  }
  LintDuplicates(context, "budget", context.base.llm_budgets(),
                 [](const v1::LlmBudget& budget) { return budget.scope(); });
  for (const v1::LlmBudget& budget : context.base.llm_budgets()) {
    context.RequireWord(budget.source(), "a budget of models", "scope", budget.scope(), kScopes,
                        /*optional=*/false);
  }
  LintDuplicates(
      context, "calibration of model", context.base.llm_calibrations(),
      [](const v1::LlmCalibration& one) { return absl::StrCat(one.model(), " ", one.built_in()); });
  for (const v1::LlmCalibration& one : context.base.llm_calibrations()) {
    context.RequireWord(one.source(), "a calibration of models", "built_in", one.built_in(),
                        kBuiltIn, /*optional=*/false);
    if (one.right() <= one.of()) continue;
    context.Error(one.source(),
                  absl::StrCat("a calibration of model ", one.model(), " has ", one.right(),
                               " right of ", one.of()),
                  "write how many verdicts there were as `of`, and how many of them were right");
  }
}

}  // namespace galen::knowledge
