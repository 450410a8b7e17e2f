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

// Is told what happened to a ticket: true when it is one of ours, which then is kept; an error: to
// be told again. May block.
using TicketUpdateHandler = std::function<absl::StatusOr<bool>(const TicketEvent&)>;

// POST /hooks/{endpoint}: whether the sender is who it says, what it says, and whether that is
// kept; then 202 with the name of the diagnosis. The diagnosis itself is asked for later, by the
// dispatcher. Thread-safe.
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
  // Whether it was all about tickets of ours, and answers it then.
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
