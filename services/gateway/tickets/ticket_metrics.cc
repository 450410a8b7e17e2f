#include "services/gateway/tickets/ticket_metrics.h"

#include <utility>
#include <vector>

#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/registry.h"

namespace galen::gateway::tickets {

std::shared_ptr<const prometheus::Collectable> TicketNumbers(
    std::function<std::map<std::string, DeliveryWorker::Counts>()> counts) {
  return metrics::SourceOf([counts = std::move(counts)] {
    // (Labels are views of these strings.)
    const std::map<std::string, DeliveryWorker::Counts> now = counts();
    prometheus::MetricFamily requests = metrics::FamilyOf(metrics::kTickets);
    prometheus::MetricFamily due = metrics::FamilyOf(metrics::kTicketsDue);
    prometheus::MetricFamily oldest = metrics::FamilyOf(metrics::kTicketsOldest);
    prometheus::MetricFamily dead = metrics::FamilyOf(metrics::kTicketsDead);
    for (const auto& [name, of_target] : now) {
      for (const auto& [what, count] : of_target.requests) {
        metrics::AddTo(requests, {{"target", name}, {"step", what.first}, {"outcome", what.second}},
                       static_cast<double>(count));
      }
      metrics::AddTo(due, {{"target", name}}, static_cast<double>(of_target.due));
      metrics::AddTo(oldest, {{"target", name}}, absl::ToDoubleSeconds(of_target.oldest));
      metrics::AddTo(dead, {{"target", name}}, static_cast<double>(of_target.dead));
    }
    return std::vector<prometheus::MetricFamily>{std::move(requests), std::move(due),
                                                 std::move(oldest), std::move(dead)};
  });
}

}  // namespace galen::gateway::tickets
