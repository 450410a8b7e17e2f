#ifndef COMMON_REASONER_LLM_MODEL_METRICS_H_
#define COMMON_REASONER_LLM_MODEL_METRICS_H_

#include <vector>

#include "common/llm/client.h"
#include "common/reasoner/llm/asker.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace galen::reasoner::llm {

// Metrics of a client, by `use`: "chat" for questions, "embedding" for query texts. docs/llm.md
// lists the names. Pure.
std::vector<prometheus::MetricFamily> ClientFamilies(const galen::llm::Health& health,
                                                     absl::string_view use);

// Metrics of the outcomes of questions that were meant for a model. Pure.
std::vector<prometheus::MetricFamily> QuestionFamilies(const AskCounts& counts);

// Both kinds of metrics of a model, collected on demand. All arguments must outlive it; `embedding`
// may be null. Thread-safe.
class ModelMetrics final : public prometheus::Collectable {
 public:
  ModelMetrics(const galen::llm::LlmClient& chat, const galen::llm::LlmClient* embedding,
               const AskCounters& counters)
      : chat_(chat), embedding_(embedding), counters_(counters) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const galen::llm::LlmClient& chat_;
  const galen::llm::LlmClient* const embedding_;
  const AskCounters& counters_;
};

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_MODEL_METRICS_H_
