#ifndef COMMON_REASONER_LLM_ASKER_H_
#define COMMON_REASONER_LLM_ASKER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/host/redact.h"
#include "common/knowledge/knowledge.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/embedded_history.h"
#include "common/reasoner/llm/forms.h"
#include "common/reasoner/llm/json.h"
#include "common/store/answer_cache.h"
#include "galen/v1/reasoning.pb.h"

namespace galen::reasoner::llm {

// What became of questions since the start, for metrics.
struct AskCounts {
  std::int64_t asked = 0;     // that a model was to answer
  std::int64_t answered = 0;  // whose answer was taken, cached ones included
  std::int64_t cached = 0;
  std::int64_t repaired = 0;
  std::map<galen::v1::Reasoned::Fallback, std::int64_t> fallbacks;
  galen::v1::Spent spent;
};

// Counters that askers of one process share. Thread-safe.
class AskCounters {
 public:
  void Count(const galen::v1::Reasoned& reasoned);
  AskCounts counts() const;

 private:
  std::atomic<std::int64_t> asked_{0}, answered_{0}, cached_{0}, repaired_{0}, calls_{0}, input_{0},
      output_{0}, cost_{0};
  std::array<std::atomic<std::int64_t>, galen::v1::Reasoned::Fallback_ARRAYSIZE> fallbacks_{};
};

// What an asker works with; all but `knowledge` may be shared by many. Must outlive it.
struct Model {
  galen::llm::LlmClient* client = nullptr;
  store::AnswerCache* cache = nullptr;         // null: none
  AskCounters* counters = nullptr;             // null: none
  const Cancellation* cancellation = nullptr;  // ends calls that are under way; null: none
  // Takes secrets out of everything that leaves; null: nothing is taken out.
  const host::Redactor* redactor = nullptr;
  const Embedding* embedding = nullptr;  // who proposes from history searches it by this model's
                                         // vectors; null: by the built-in embedder's
};

// Asks a model one question: looks at the budget and the cache, sends the prompt, has the answer
// taken or refused, and after a refusal asks once more with what was wrong. Never fails: what it
// could not get says so in the account that it gives. Thread-safe.
class Asker {
 public:
  // `knowledge` must outlive it.
  Asker(const knowledge::Knowledge& knowledge, Model model)
      : knowledge_(knowledge), model_(model) {}

  struct Question {
    std::string name;       // of its prompt
    std::string case_text;  // sections; the part that successive questions have in common
    std::map<std::string, std::string> slots;
    Json schema;
    galen::v1::Spending spending;  // before it
    // What was said since: the turns of an investigation, after the question itself.
    std::vector<galen::llm::Message> turns;
    // In place of the schema, for a model that uses tools of the protocol. What it uses is made the
    // JSON of an answer by `from_tools`.
    std::vector<galen::llm::Tool> tools;
    std::function<Json(const galen::llm::ChatAnswer&)> from_tools;
    bool thinks = true;  // the answer holds "thoughts", which become steps of the reasoning
  };
  // OK: the answer is taken; else what is wrong with it, told to the model once.
  using Take = absl::FunctionRef<absl::Status(const Json& answer)>;

  // The answer was taken when the result's fallback is NONE. Ends before `deadline` with time left
  // for the caller to go on.
  galen::v1::Reasoned Ask(const Question& question, Take take, absl::Time deadline) const;

  // Name of the model that such a question goes to.
  std::string ModelOf(absl::string_view question) const;
  galen::llm::Settings SettingsOf(absl::string_view question) const;
  const host::Redactor* redactor() const { return model_.redactor; }

 private:
  const knowledge::Knowledge& knowledge_;
  const Model model_;
};

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_ASKER_H_
