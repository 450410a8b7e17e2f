#include "services/gateway/gateway_metrics.h"

#include <utility>

#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/registry.h"

namespace galen::gateway {

std::shared_ptr<const prometheus::Collectable> HttpNumbers(
    std::function<http::ServerCounts()> counts) {
  return metrics::SourceOf([counts = std::move(counts)] {
    const http::ServerCounts now = counts();
    const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
    return std::vector<prometheus::MetricFamily>{
        metrics::FamilyWith(metrics::kHttpConnections, {{{}, number(now.open)}}),
        metrics::FamilyWith(metrics::kHttpAccepted, {{{}, number(now.connections)}}),
        metrics::FamilyWith(metrics::kHttpCut, {{{{"why", "evicted"}}, number(now.evicted)},
                                                {{{"why", "slow"}}, number(now.timed_out)}}),
        metrics::FamilyWith(metrics::kHttpRefused, {{{}, number(now.refused)}})};
  });
}

std::shared_ptr<const prometheus::Collectable> AccessNumbers(
    std::function<std::uint64_t()> unauthenticated, std::function<std::uint64_t()> unsealed) {
  return metrics::SourceOf(
      [unauthenticated = std::move(unauthenticated), unsealed = std::move(unsealed)] {
        return std::vector<prometheus::MetricFamily>{
            metrics::FamilyWith(metrics::kHttpUnauthenticated,
                                {{{}, static_cast<double>(unauthenticated())}}),
            metrics::FamilyWith(metrics::kUnsealed, {{{}, static_cast<double>(unsealed())}})};
      });
}

}  // namespace galen::gateway
