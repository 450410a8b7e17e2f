#include "services/gateway/webhooks/hook_metrics.h"

#include <vector>

#include "common/metrics/catalogue.h"
#include "common/metrics/registry.h"

namespace galen::gateway::webhooks {
namespace {

prometheus::MetricFamily ByOutcome(const metrics::Description& description,
                                   const HookNumbers::Counts& counts) {
  prometheus::MetricFamily family = metrics::FamilyOf(description);
  for (const auto& [key, count] : counts) {
    metrics::AddTo(family, {{"endpoint", key.first}, {"outcome", key.second}},
                   static_cast<double>(count));
  }
  return family;
}

}  // namespace

std::shared_ptr<const prometheus::Collectable> NumbersOf(const Webhooks& webhooks) {
  return metrics::SourceOf([&webhooks] {
    const HookNumbers& numbers = webhooks.numbers();
    prometheus::MetricFamily seconds = metrics::FamilyOf(metrics::kWebhookSeconds);
    if (const metrics::Distribution times = numbers.times(); !times.counts.empty()) {
      metrics::AddTo(seconds, {}, times);
    }
    prometheus::MetricFamily last = metrics::FamilyOf(metrics::kWebhookLast);
    for (const auto& [endpoint, time] : numbers.last()) {
      metrics::AddTo(last, {{"endpoint", endpoint}},
                     absl::ToDoubleSeconds(time - absl::UnixEpoch()));
    }
    return std::vector<prometheus::MetricFamily>{
        ByOutcome(metrics::kWebhookDeliveries, numbers.deliveries()),
        std::move(seconds),
        std::move(last),
        metrics::FamilyWith(metrics::kWebhookWaiting,
                            {{{}, static_cast<double>(webhooks.ledger().waiting())}}),
        metrics::FamilyWith(metrics::kWebhookLost,
                            {{{}, static_cast<double>(webhooks.courier().refused())}}),
        ByOutcome(metrics::kWebhookPolls, numbers.polls())};
  });
}

}  // namespace galen::gateway::webhooks
