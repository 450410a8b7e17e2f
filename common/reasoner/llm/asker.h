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

// Outcomes of questions since the start, for metrics.
struct AskCounts {
  std::int64_t asked = 0;     // questions meant for a model
  std::int64_t answered = 0;  // accepted answers, including cached ones
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

// A model and its resources, which may be shared by many askers and must outlive them.
struct Model {
  galen::llm::LlmClient* client = nullptr;
  store::AnswerCache* cache = nullptr;         // null: none
  AskCounters* counters = nullptr;             // null: none
  const Cancellation* cancellation = nullptr;  // ends running calls; null: none
  // Masks secrets in everything that is sent; null: nothing is masked.
  const host::Redactor* redactor = nullptr;
  const Embedding* embedding = nullptr;  // model for the vectors of the history search; null: the
                                         // built-in embedder
};

// Asks a model one question: checks the budget and the cache, sends the prompt, has the answer
// accepted or refused, and after a refusal asks once more with the error. Never fails: the returned
// account says why there is no answer. Thread-safe.
class Asker {
 public:
  // `knowledge` must outlive it.
  Asker(const knowledge::Knowledge& knowledge, Model model)
      : knowledge_(knowledge), model_(model) {}

  struct Question {
    std::string name;       // of its prompt
    std::string case_text;  // sections; the common part of successive questions
    std::map<std::string, std::string> slots;
    Json schema;
    galen::v1::Spending spending;  // before it
    // Messages after the question: the turns of an investigation.
    std::vector<galen::llm::Message> turns;
    // Instead of the schema, for a model that uses tools of the protocol. `from_tools` converts its
    // tool uses to the JSON of an answer.
    std::vector<galen::llm::Tool> tools;
    std::function<Json(const galen::llm::ChatAnswer&)> from_tools;
    bool thinks = true;  // the answer has "thoughts", which become steps of the reasoning
  };
  // OK: the answer is accepted; otherwise the error, which is sent to the model once.
  using Take = absl::FunctionRef<absl::Status(const Json& answer)>;

  // The answer was accepted if the result's fallback is NONE. Ends before `deadline` with time left
  // for the caller to continue.
  galen::v1::Reasoned Ask(const Question& question, Take take, absl::Time deadline) const;

  // Name of the model for such a question.
  std::string ModelOf(absl::string_view question) const;
  galen::llm::Settings SettingsOf(absl::string_view question) const;
  const host::Redactor* redactor() const { return model_.redactor; }

 private:
  const knowledge::Knowledge& knowledge_;
  const Model model_;
};

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_ASKER_H_
