#include "services/gateway/webhooks/webhook_metrics.h"

#include <vector>

#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/registry.h"

namespace galen::gateway::webhooks {
namespace {

prometheus::MetricFamily ByOutcome(const metrics::Description& description,
                                   const WebhookCounters::Counts& counts) {
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
    const WebhookCounters& counters = webhooks.counters();
    prometheus::MetricFamily seconds = metrics::FamilyOf(metrics::kWebhookSeconds);
    if (const metrics::Distribution times = counters.times(); !times.counts.empty()) {
      metrics::AddTo(seconds, {}, times);
    }
    prometheus::MetricFamily last = metrics::FamilyOf(metrics::kWebhookLast);
    for (const auto& [endpoint, time] : counters.last()) {
      metrics::AddTo(last, {{"endpoint", endpoint}},
                     absl::ToDoubleSeconds(time - absl::UnixEpoch()));
    }
    return std::vector<prometheus::MetricFamily>{
        ByOutcome(metrics::kWebhookDeliveries, counters.deliveries()),
        std::move(seconds),
        std::move(last),
        metrics::FamilyWith(metrics::kWebhookWaiting,
                            {{{}, static_cast<double>(webhooks.webhook_journal().waiting())}}),
        metrics::FamilyWith(metrics::kWebhookLost,
                            {{{}, static_cast<double>(webhooks.dispatcher().refused())}}),
        ByOutcome(metrics::kWebhookPolls, counters.polls())};
  });
}

}  // namespace galen::gateway::webhooks
