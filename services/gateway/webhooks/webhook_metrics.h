#ifndef SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_METRICS_H_
#define SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_METRICS_H_

#include <memory>

#include "prometheus/collectable.h"
#include "services/gateway/webhooks/webhooks.h"

namespace galen::gateway::webhooks {

// Counts of webhooks, under the names of common/observability/metrics/catalogue.h. `webhooks` must
// outlive every collection.
std::shared_ptr<const prometheus::Collectable> NumbersOf(const Webhooks& webhooks);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_METRICS_H_
