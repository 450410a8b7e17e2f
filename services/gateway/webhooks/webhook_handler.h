#ifndef SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_HANDLER_H_
#define SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_HANDLER_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "services/gateway/api/access.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/webhooks/endpoints.h"
#include "services/gateway/webhooks/payload_parser.h"
#include "services/gateway/webhooks/webhook_counters.h"
#include "services/gateway/webhooks/webhook_journal.h"

namespace galen::gateway::webhooks {

// Gets ticket events: true if the ticket is one of ours, and the event is then stored; an error:
// the sender must repeat it. May block.
using TicketUpdateHandler = std::function<absl::StatusOr<bool>(const TicketEvent&)>;

// POST /hooks/{endpoint}: verifies the sender, parses the delivery and stores it; then answers 202
// with the name of the diagnosis. The dispatcher creates the diagnosis later. Thread-safe.
class WebhookHandler final : public http::Handler {
 public:
  struct Options {
    std::size_t most_body_bytes = std::size_t{1} << 20;
    std::size_t most_at_once = 512;
  };
  // All must outlive it, and it must outlive the tasks of `executor`. `heard` may be null.
  WebhookHandler(const Site& site, WebhookJournal& webhook_journal, RateLimiter& rates,
                 const Clock& clock, Executor& executor, WebhookCounters& counters, Options options,
                 TicketUpdateHandler heard = nullptr);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  http::Response Refuse(int status, const std::string& why) override;

 private:
  class Delivery;
  void Check(const std::shared_ptr<Delivery>& delivery);
  void Read(const std::shared_ptr<Delivery>& delivery);
  // Whether the delivery was only about tickets of ours; it is answered then.
  bool HandleTicketUpdates(const std::shared_ptr<Delivery>& delivery);
  void Keep(const std::shared_ptr<Delivery>& delivery);

  const Site& site_;
  WebhookJournal& webhook_journal_;
  RateLimiter& rates_;
  const Clock& clock_;
  Executor& executor_;
  WebhookCounters& counters_;
  const Options options_;
  const TicketUpdateHandler heard_;
  std::atomic<std::size_t> at_once_ = 0;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_HANDLER_H_
