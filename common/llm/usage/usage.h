#ifndef COMMON_LLM_USAGE_USAGE_H_
#define COMMON_LLM_USAGE_USAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/reasoning.pb.h"

// Accounts of what language models took, and what they may take. All are pure: the event log is the
// only ledger, so that an account is the same after a crash.
namespace galen::usage {

// Stands for the name of a prompt in the account of embedding a text for the search of past
// incidents: an embedding model takes tokens, but answers nothing.
inline constexpr char kEmbedding[] = "embed";

// Adds what one question took.
void Add(const v1::Reasoned& reasoned, v1::Spent& spent);
void Add(const v1::Spent& more, v1::Spent& spent);
// The same for a diagnosis, with its questions and failures. A failed embedding is not a failure of
// the model that answers: it may be another server.
void Add(const v1::Reasoned& reasoned, v1::Spending& spending);

// The cost of these tokens of that model, in 1e-9 of the currency of the price list, by the first
// price that fits; 0 for a model without a price. Never negative, and at most the largest number.
std::int64_t CostNanos(const knowledge::v1::KnowledgeBase& base, absl::string_view model,
                       std::int64_t input_tokens, std::int64_t output_tokens);

// Tokens of a text when nobody counts them, rounded up: three bytes each. English and logs have
// about four for each token of the common tokenizers, labels and numbers fewer, so that an estimate
// is rather too high.
std::int64_t EstimateTokens(absl::string_view text);

// A question before it is asked: at most these tokens.
struct Wanted {
  std::string question;  // name of its prompt
  std::string model;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

// The reason not to ask it.
struct Refusal {
  v1::Reasoned::Fallback fallback = v1::Reasoned::NONE;  // NONE: nothing
  std::string why;                                       // one sentence
};

// A round of a diagnosis goes on without a model that failed this many times in a row: models that
// are down delay it by two time limits, not by one for each question, and a single failure does not
// exclude a model. The same applies to unusable answers.
inline constexpr int kMostFailures = 2;
inline constexpr int kMostBadAnswers = 2;

// Another round may ask everything again, within the same budget.
void BeginRound(v1::Spending& spending);

// Whether the question may be asked after what was spent: the number of times that its prompt may
// be asked, the budget of a diagnosis, that of a tenant's day. A limit is kept before it is passed:
// what is wanted counts as if it were spent. Calls in flight at the same time do not see each
// other.
Refusal Refuse(const knowledge::Knowledge& knowledge, const v1::Spending& spending,
               const Wanted& wanted);

// The day that a tenant's budget counts: midnight to midnight UTC, "2026-02-14".
std::string DayOf(absl::Time time);

// "USD 0.0132", and "" for nothing.
std::string MoneyText(const knowledge::v1::KnowledgeBase& base, std::int64_t nanos);

}  // namespace galen::usage

#endif  // COMMON_LLM_USAGE_USAGE_H_
