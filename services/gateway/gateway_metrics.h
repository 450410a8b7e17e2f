#ifndef SERVICES_GATEWAY_GATEWAY_METRICS_H_
#define SERVICES_GATEWAY_GATEWAY_METRICS_H_

#include <functional>
#include <memory>

#include "prometheus/collectable.h"
#include "services/gateway/http/server.h"

namespace galen::gateway {

// What the HTTP server tells of its connections, under the names of common/metrics/catalogue.h.
std::shared_ptr<const prometheus::Collectable> HttpNumbers(
    std::function<http::ServerCounts()> counts);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_GATEWAY_METRICS_H_
