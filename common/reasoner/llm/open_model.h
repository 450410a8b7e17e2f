#ifndef COMMON_REASONER_LLM_OPEN_MODEL_H_
#define COMMON_REASONER_LLM_OPEN_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/cancellation.h"
#include "common/host/capture_plan.h"
#include "common/llm/client.h"
#include "common/observability/metrics/registry.h"
#include "common/reasoner/llm/asker.h"
#include "common/reasoner/llm/embedded_history.h"
#include "common/store/answer_cache.h"

namespace galen::reasoner::llm {

// The secret patterns in knowledge/capture.txt of these directories; empty: the directories of the
// program. The last file counts.
absl::StatusOr<host::CapturePlan> SecretsOf(const std::vector<std::string>& knowledge);

// A model for a program: the client of its endpoint, the cache of its answers, its counters, and
// the embedding model, if the file names one.
class OpenedModel {
 public:
  // `endpoint_file` as docs/llm.md describes it; "" returns null, and then nothing is ever sent.
  // `cache` for answers: an SQLite file or a Redis URL; "": in memory. Secrets by
  // knowledge/capture.txt are masked in everything that is sent; `knowledge`: the knowledge
  // directories of the program, empty: the installed ones. Errors: those of the file, the key, the
  // cache, and the patterns.
  static absl::StatusOr<std::unique_ptr<OpenedModel>> Open(
      const std::string& endpoint_file, const std::string& cache,
      const std::vector<std::string>& knowledge = {});

  // For agents that ask questions.
  Model model() {
    return {client_.get(), cache_.get(), &counters_, &closing_, &plan_.redactor, nullptr};
  }
  // For planning, which also searches past incidents.
  Model planners_model() {
    Model model = this->model();
    if (embedding_client_ != nullptr) model.embedding = &embedding_;
    return model;
  }
  // Its metrics; must not be collected after this object is destroyed.
  std::shared_ptr<const prometheus::Collectable> metrics() const;
  const galen::llm::LlmClient& client() const { return *client_; }
  const AskCounters& counters() const { return counters_; }
  // Ends running calls, for the shutdown of the program.
  void Close() { closing_.Cancel(); }

 private:
  OpenedModel() = default;

  std::unique_ptr<galen::llm::LlmClient> client_;
  std::unique_ptr<store::AnswerCache> cache_;
  AskCounters counters_;
  host::CapturePlan plan_;  // for its redactor
  Cancellation closing_;
  std::unique_ptr<galen::llm::LlmClient> embedding_client_;  // null: nothing is embedded
  std::unique_ptr<store::AnswerCache> vectors_;
  Embedding embedding_;
};

// The model, if any.
inline std::optional<Model> ModelOf(OpenedModel* opened) {
  return opened == nullptr ? std::nullopt : std::optional<Model>(opened->model());
}
inline std::optional<Model> PlannersModelOf(OpenedModel* opened) {
  return opened == nullptr ? std::nullopt : std::optional<Model>(opened->planners_model());
}

// Registers its metrics, if there is a model.
inline void Register(const OpenedModel* opened, metrics::Registry& registry) {
  if (opened != nullptr) registry.Add(opened->metrics());
}

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_OPEN_MODEL_H_
