#include "common/llm/usage/usage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace galen::usage {
namespace {

using v1::Reasoned;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kNanos = 1e9;
constexpr double kMillion = 1e6;

// Reports of an endpoint are not trusted: a negative count is 0, and sums stop at the largest
// number.
std::int64_t Count(std::int64_t number) { return std::max<std::int64_t>(number, 0); }
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return Count(a) > kMost - Count(b) ? kMost : Count(a) + Count(b);
}

// Before the name of a question: how often it was asked in earlier rounds.
constexpr absl::string_view kEarlier = "earlier ";

int Asked(const v1::Spending& spending, const std::string& question) {
  const auto found = spending.answered().find(question);
  return found == spending.answered().end() ? 0 : found->second;
}

const knowledge::v1::LlmPrice* PriceOf(const knowledge::v1::KnowledgeBase& base,
                                       absl::string_view model) {
  for (const knowledge::v1::LlmPrice& price : base.llm_prices()) {
    absl::string_view name = price.model();
    const bool fits =
        absl::ConsumeSuffix(&name, "*") ? absl::StartsWith(model, name) : model == name;
    if (fits) return &price;
  }
  return nullptr;
}

std::int64_t ToNanos(double money) {
  const double nanos = money * kNanos;
  if (!(nanos > 0)) return 0;
  return nanos >= static_cast<double>(kMost) ? kMost : std::llround(nanos);
}

Refusal Over(const knowledge::v1::LlmBudget& budget, const v1::Spent& spent,
             const v1::Spent& wanted, absl::string_view whose) {
  struct Line {
    absl::string_view what;
    std::int64_t limit;
    std::int64_t spent;
    std::int64_t wanted;
  };
  const Line lines[] = {
      {"calls", budget.calls(), spent.calls(), wanted.calls()},
      {"input tokens", budget.input_tokens(), spent.input_tokens(), wanted.input_tokens()},
      {"output tokens", budget.output_tokens(), spent.output_tokens(), wanted.output_tokens()},
  };
  for (const Line& line : lines) {
    if (line.limit == 0 || Sum(line.spent, line.wanted) <= line.limit) continue;
    return {Reasoned::BUDGET_SPENT,
            absl::StrCat(line.spent, " of ", line.limit, " ", line.what, " ", whose,
                         " are spent and the question takes up to ", line.wanted)};
  }
  // How long an answer takes nobody knows before: what is spent counts.
  if (budget.seconds() > 0 && spent.took_millis() >= budget.seconds() * 1000) {
    return {Reasoned::BUDGET_SPENT, absl::StrCat("models took ", spent.took_millis() / 1000,
                                                 " of the ", budget.seconds(), " seconds ", whose)};
  }
  const std::int64_t money = ToNanos(budget.money());
  if (money > 0 && Sum(spent.cost_nanos(), wanted.cost_nanos()) > money) {
    return {Reasoned::BUDGET_SPENT,
            absl::StrFormat("%.4f of %.4f in money %s are spent and the question takes up to %.4f",
                            static_cast<double>(spent.cost_nanos()) / kNanos, budget.money(), whose,
                            static_cast<double>(wanted.cost_nanos()) / kNanos)};
  }
  return {};
}

}  // namespace

void Add(const v1::Spent& more, v1::Spent& spent) {
  spent.set_calls(Sum(spent.calls(), more.calls()));
  spent.set_input_tokens(Sum(spent.input_tokens(), more.input_tokens()));
  spent.set_output_tokens(Sum(spent.output_tokens(), more.output_tokens()));
  spent.set_cost_nanos(Sum(spent.cost_nanos(), more.cost_nanos()));
  spent.set_took_millis(Sum(spent.took_millis(), more.took_millis()));
}

void Add(const Reasoned& reasoned, v1::Spent& spent) {
  v1::Spent more;
  more.set_calls(reasoned.calls());
  more.set_input_tokens(reasoned.input_tokens());
  more.set_output_tokens(reasoned.output_tokens());
  more.set_cost_nanos(reasoned.cost_nanos());
  more.set_took_millis(reasoned.took_millis());
  Add(more, spent);
}

void Add(const Reasoned& reasoned, v1::Spending& spending) {
  Add(reasoned, *spending.mutable_diagnosis());
  Add(reasoned, *spending.mutable_tenant_today());
  if (reasoned.calls() > 0 || reasoned.cached()) {
    ++(*spending.mutable_answered())[reasoned.question()];
  }
  if (reasoned.question() == kEmbedding) return;
  if (reasoned.fallback() == Reasoned::UNAVAILABLE ||
      (reasoned.fallback() == Reasoned::OUT_OF_TIME && reasoned.calls() > 0)) {
    spending.set_failures(spending.failures() + 1);
  }
  if (reasoned.fallback() == Reasoned::BAD_ANSWER) {
    spending.set_bad_answers(spending.bad_answers() + 1);
  }
  if (reasoned.fallback() == Reasoned::NONE) {
    spending.set_failures(0);
    spending.set_bad_answers(0);
  }
}

void BeginRound(v1::Spending& spending) {
  // The count goes on, as steps of the reasoning are numbered by it; what was before counts no more
  // against what a prompt allows.
  std::map<std::string, std::int32_t> asked;
  for (const auto& [question, times] : spending.answered()) {
    if (!absl::StartsWith(question, kEarlier)) asked[question] = times;
  }
  for (const auto& [question, times] : asked) {
    (*spending.mutable_answered())[absl::StrCat(kEarlier, question)] = times;
  }
  spending.clear_failures();
  spending.clear_bad_answers();
}

std::int64_t CostNanos(const knowledge::v1::KnowledgeBase& base, absl::string_view model,
                       std::int64_t input_tokens, std::int64_t output_tokens) {
  const knowledge::v1::LlmPrice* const price = PriceOf(base, model);
  if (price == nullptr) return 0;
  return ToNanos(static_cast<double>(Count(input_tokens)) * price->input_per_million() / kMillion +
                 static_cast<double>(Count(output_tokens)) * price->output_per_million() /
                     kMillion);
}

std::int64_t EstimateTokens(absl::string_view text) {
  return static_cast<std::int64_t>((text.size() + 2) / 3);
}

Refusal Refuse(const knowledge::Knowledge& knowledge, const v1::Spending& spending,
               const Wanted& wanted) {
  if (spending.failures() >= kMostFailures) {
    return {Reasoned::GAVE_UP, absl::StrCat("the model failed this diagnosis ", spending.failures(),
                                            " times one after the other")};
  }
  if (spending.bad_answers() >= kMostBadAnswers) {
    return {Reasoned::GAVE_UP,
            absl::StrCat("the model gave this diagnosis ", spending.bad_answers(),
                         " answers that could not be used")};
  }
  const knowledge::v1::Prompt* const prompt = knowledge.FindPrompt(wanted.question);
  const int asked =
      Asked(spending, wanted.question) - Asked(spending, absl::StrCat(kEarlier, wanted.question));
  if (prompt != nullptr && asked >= prompt->most()) {
    return {Reasoned::NOT_NEEDED,
            absl::StrCat("it was asked ", asked, " times, as often as its prompt allows")};
  }
  v1::Spent more;
  more.set_calls(1);
  more.set_input_tokens(wanted.input_tokens);
  more.set_output_tokens(wanted.output_tokens);
  more.set_cost_nanos(
      CostNanos(knowledge.base(), wanted.model, wanted.input_tokens, wanted.output_tokens));
  for (const knowledge::v1::LlmBudget& budget : knowledge.base().llm_budgets()) {
    const bool day = budget.scope() == "tenant_day";
    Refusal refusal = Over(budget, day ? spending.tenant_today() : spending.diagnosis(), more,
                           day ? "of the tenant today" : "of this diagnosis");
    if (refusal.fallback != Reasoned::NONE) return refusal;
  }
  return {};
}

std::string DayOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

std::string MoneyText(const knowledge::v1::KnowledgeBase& base, std::int64_t nanos) {
  if (nanos <= 0) return "";
  const std::string currency =
      base.llm_prices().empty() ? std::string() : absl::StrCat(base.llm_prices(0).currency(), " ");
  return absl::StrFormat("%s%.4f", currency, static_cast<double>(nanos) / kNanos);
}

}  // namespace galen::usage
