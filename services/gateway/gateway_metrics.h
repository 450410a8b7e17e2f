#ifndef SERVICES_GATEWAY_GATEWAY_METRICS_H_
#define SERVICES_GATEWAY_GATEWAY_METRICS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "prometheus/collectable.h"
#include "services/gateway/http/server.h"

namespace galen::gateway {

// Counts of unauthenticated requests, and of records of the store that were ignored because they
// lack the seal.
std::shared_ptr<const prometheus::Collectable> AccessNumbers(
    std::function<std::uint64_t()> unauthenticated, std::function<std::uint64_t()> unsealed);

// Counts of the HTTP server's connections, under the names of
// common/observability/metrics/catalogue.h.
std::shared_ptr<const prometheus::Collectable> HttpNumbers(
    std::function<http::ServerCounts()> counts);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_GATEWAY_METRICS_H_
