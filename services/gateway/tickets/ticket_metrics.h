#ifndef SERVICES_GATEWAY_TICKETS_TICKET_METRICS_H_
#define SERVICES_GATEWAY_TICKETS_TICKET_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "prometheus/collectable.h"
#include "services/gateway/tickets/delivery_worker.h"

namespace galen::gateway::tickets {

// galen_tickets_*, from `counts` by target.
std::shared_ptr<const prometheus::Collectable> TicketNumbers(
    std::function<std::map<std::string, DeliveryWorker::Counts>()> counts);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TICKET_METRICS_H_
