#include "common/reasoner/llm/model_metrics.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "common/observability/metrics/registry.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::Health;
using galen::llm::Latencies;
using galen::v1::Reasoned;
using metrics::FamilyWith;
using metrics::Sample;
using prometheus::MetricFamily;

constexpr double kNano = 1e-9;

double Number(std::int64_t count) { return static_cast<double>(count); }

MetricFamily LatencyFamily(const Latencies& latencies, absl::string_view use) {
  metrics::Distribution times;
  times.bounds.assign(Latencies::kBounds.begin(), Latencies::kBounds.end());
  for (const std::int64_t count : latencies.counts) {
    times.counts.push_back(static_cast<std::uint64_t>(count));
  }
  times.seconds = latencies.seconds;
  MetricFamily family = metrics::FamilyOf(metrics::kLlmAnswerSeconds);
  metrics::AddTo(family, {{"use", use}}, times);
  return family;
}

}  // namespace

std::vector<MetricFamily> ClientFamilies(const Health& health, absl::string_view use) {
  const auto one = [&](const metrics::Description& description, std::int64_t count) {
    return FamilyWith(description, {{{{"use", use}}, Number(count)}});
  };
  const auto kind = [&](absl::string_view name, std::int64_t count) {
    return Sample{{{"use", use}, {"kind", name}}, Number(count)};
  };
  const auto state = [&](absl::string_view name, Health::Circuit circuit) {
    return Sample{{{"use", use}, {"state", name}}, health.circuit == circuit ? 1.0 : 0.0};
  };
  return {
      one(metrics::kLlmCalls, health.calls),
      one(metrics::kLlmAnswers, health.answers),
      one(metrics::kLlmRequests, health.attempts),
      one(metrics::kLlmRetries, health.retries),
      one(metrics::kLlmHedges, health.hedges),
      FamilyWith(metrics::kLlmFailures,
                 {kind("unavailable", health.unavailable), kind("throttled", health.throttled),
                  kind("late", health.late), kind("bad_answer", health.bad_answers),
                  kind("denied", health.denied), kind("rejected", health.rejected)}),
      one(metrics::kLlmRefused, health.refused),
      one(metrics::kLlmOpened, health.opened),
      FamilyWith(metrics::kLlmCircuit,
                 {state("closed", Health::Circuit::kClosed), state("open", Health::Circuit::kOpen),
                  state("half_open", Health::Circuit::kHalfOpen)}),
      FamilyWith(metrics::kLlmTokens, {kind("input", health.usage.prompt_tokens),
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
      FamilyWith(metrics::kLlmQuestions, {{{{"outcome", "answered"}}, Number(counts.answered)},
                                          became("not_needed", Reasoned::NOT_NEEDED),
                                          became("budget_spent", Reasoned::BUDGET_SPENT),
                                          became("gave_up", Reasoned::GAVE_UP),
                                          became("unavailable", Reasoned::UNAVAILABLE),
                                          became("out_of_time", Reasoned::OUT_OF_TIME),
                                          became("bad_answer", Reasoned::BAD_ANSWER)}),
      FamilyWith(metrics::kLlmCached, {{{}, Number(counts.cached)}}),
      FamilyWith(metrics::kLlmRepaired, {{{}, Number(counts.repaired)}}),
      FamilyWith(metrics::kLlmCost, {{{}, Number(counts.spent.cost_nanos()) * kNano}}),
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
