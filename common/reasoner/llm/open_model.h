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

// What is a secret by knowledge/capture.txt of these directories; none: those that came with the
// program. The last file counts.
absl::StatusOr<host::CapturePlan> SecretsOf(const std::vector<std::string>& knowledge);

// A model as a program uses it: the client of its endpoint, the cache of its answers, what was
// asked of it, and where the file names one, the model that embeds.
class OpenedModel {
 public:
  // `endpoint_file` as docs/llm.md describes it; "" gives null, and then nothing is ever sent
  // anywhere. `cache` keeps answers: an SQLite file, or a Redis URL; "" keeps them in memory.
  // What stands in knowledge/capture.txt as a secret is taken out of all that is sent; the
  // `knowledge` directories are those of the program, none the ones that came with it.
  // Errors: those of the file, of the key, of the cache, of the patterns.
  static absl::StatusOr<std::unique_ptr<OpenedModel>> Open(
      const std::string& endpoint_file, const std::string& cache,
      const std::vector<std::string>& knowledge = {});

  // For agents that ask.
  Model model() {
    return {client_.get(), cache_.get(), &counters_, &closing_, &plan_.redactor, nullptr};
  }
  // For planning, which searches past incidents too.
  Model planners_model() {
    Model model = this->model();
    if (embedding_client_ != nullptr) model.embedding = &embedding_;
    return model;
  }
  // In numbers; must not be asked when this is gone.
  std::shared_ptr<const prometheus::Collectable> metrics() const;
  const galen::llm::LlmClient& client() const { return *client_; }
  const AskCounters& counters() const { return counters_; }
  // Ends calls that are under way: the program is about to end.
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

// The model, for those who may go without: nothing for null.
inline std::optional<Model> ModelOf(OpenedModel* opened) {
  return opened == nullptr ? std::nullopt : std::optional<Model>(opened->model());
}
inline std::optional<Model> PlannersModelOf(OpenedModel* opened) {
  return opened == nullptr ? std::nullopt : std::optional<Model>(opened->planners_model());
}

// Its numbers among those of the program; none for null.
inline void Register(const OpenedModel* opened, metrics::Registry& registry) {
  if (opened != nullptr) registry.Add(opened->metrics());
}

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_OPEN_MODEL_H_
