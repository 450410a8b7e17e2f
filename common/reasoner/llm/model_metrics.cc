#include "common/reasoner/llm/model_metrics.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "common/metrics/registry.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::Health;
using galen::llm::Latencies;
using galen::v1::Reasoned;
using metrics::CounterFamily;
using metrics::Sample;
using prometheus::MetricFamily;

constexpr double kNano = 1e-9;

double Number(std::int64_t count) { return static_cast<double>(count); }

MetricFamily LatencyFamily(const Latencies& latencies, absl::string_view use) {
  MetricFamily family;
  family.name = "galen_llm_answer_seconds";
  family.help = "Time of the requests that brought an answer";
  family.type = prometheus::MetricType::Histogram;
  prometheus::ClientMetric metric = metrics::Labelled({{"use", use}});
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < latencies.counts.size(); ++i) {
    count += static_cast<std::uint64_t>(latencies.counts[i]);
    metric.histogram.bucket.push_back({count, i < Latencies::kBounds.size()
                                                  ? Latencies::kBounds[i]
                                                  : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = latencies.seconds;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

std::vector<MetricFamily> ClientFamilies(const Health& health, absl::string_view use) {
  const auto one = [&](absl::string_view name, absl::string_view help, std::int64_t count) {
    return CounterFamily(name, help, {{{{"use", use}}, Number(count)}});
  };
  const auto kind = [&](absl::string_view name, std::int64_t count) {
    return Sample{{{"use", use}, {"kind", name}}, Number(count)};
  };
  const auto state = [&](absl::string_view name, Health::Circuit circuit) {
    return Sample{{{"use", use}, {"state", name}}, health.circuit == circuit ? 1.0 : 0.0};
  };
  return {
      one("galen_llm_calls_total", "Calls of the endpoint, each with its retries", health.calls),
      one("galen_llm_answers_total", "Calls that brought an answer", health.answers),
      one("galen_llm_requests_total", "Requests sent", health.attempts),
      one("galen_llm_retries_total", "Requests sent again after a failure", health.retries),
      one("galen_llm_hedges_total", "Requests sent once more for want of a first byte",
          health.hedges),
      CounterFamily("galen_llm_failures_total", "Requests that brought no answer",
                    {kind("unavailable", health.unavailable), kind("throttled", health.throttled),
                     kind("late", health.late), kind("bad_answer", health.bad_answers),
                     kind("denied", health.denied), kind("rejected", health.rejected)}),
      one("galen_llm_refused_total", "Calls that the open circuit breaker refused", health.refused),
      one("galen_llm_circuit_opened_total", "Times that the circuit breaker opened", health.opened),
      metrics::GaugeFamily(
          "galen_llm_circuit_state", "1 for the state of the circuit breaker",
          {state("closed", Health::Circuit::kClosed), state("open", Health::Circuit::kOpen),
           state("half_open", Health::Circuit::kHalfOpen)}),
      CounterFamily("galen_llm_tokens_total", "Tokens as the endpoint counts them",
                    {kind("input", health.usage.prompt_tokens),
                     kind("input_cached", health.usage.cached_tokens),
                     kind("output", health.usage.completion_tokens)}),
      LatencyFamily(health.latencies, use),
  };
}

std::vector<MetricFamily> QuestionFamilies(const AskCounts& counts) {
  const auto became = [&](absl::string_view name, Reasoned::Fallback fallback) {
    const auto found = counts.fallbacks.find(fallback);
    return Sample{{{"outcome", name}}, found == counts.fallbacks.end() ? 0 : Number(found->second)};
  };
  return {
      CounterFamily("galen_llm_questions_total",
                    "Questions that a model was to answer, by what became of them",
                    {{{{"outcome", "answered"}}, Number(counts.answered)},
                     became("not_needed", Reasoned::NOT_NEEDED),
                     became("budget_spent", Reasoned::BUDGET_SPENT),
                     became("gave_up", Reasoned::GAVE_UP),
                     became("unavailable", Reasoned::UNAVAILABLE),
                     became("out_of_time", Reasoned::OUT_OF_TIME),
                     became("bad_answer", Reasoned::BAD_ANSWER)}),
      CounterFamily("galen_llm_cached_answers_total", "Questions answered from the cache",
                    {{{}, Number(counts.cached)}}),
      CounterFamily("galen_llm_repaired_answers_total",
                    "Questions whose first answer was refused and whose second one was taken",
                    {{{}, Number(counts.repaired)}}),
      CounterFamily("galen_llm_cost_total",
                    "What the answers cost by the price list, in its currency",
                    {{{}, Number(counts.spent.cost_nanos()) * kNano}}),
  };
}

std::vector<MetricFamily> ModelMetrics::Collect() const {
  std::vector<MetricFamily> families = ClientFamilies(chat_.health(), "chat");
  const auto add = [&](std::vector<MetricFamily> more) {
    families.insert(families.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  };
  if (embedding_ != nullptr) add(ClientFamilies(embedding_->health(), "embedding"));
  add(QuestionFamilies(counters_.counts()));
  return families;
}

}  // namespace galen::reasoner::llm
