#ifndef SERVICES_GATEWAY_WEBHOOKS_WEBHOOKS_H_
#define SERVICES_GATEWAY_WEBHOOKS_WEBHOOKS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/store/journal.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/webhooks/ingest_dispatcher.h"
#include "services/gateway/webhooks/poller.h"
#include "services/gateway/webhooks/webhook_counters.h"
#include "services/gateway/webhooks/webhook_handler.h"
#include "services/gateway/webhooks/webhook_journal.h"

namespace galen::gateway::webhooks {

// The webhooks of a gateway: the parts that receive, keep and deliver events, and poll for those
// that never came.
class Webhooks {
 public:
  struct Needs {
    store::Journal& journal;
    Upstream& upstream;
    RateLimiter& rates;
    const Clock& clock;
    Executor& executor;
    std::function<void(const std::string&)> tell;  // one sentence for each problem
    TicketUpdateHandler heard = nullptr;           // where tickets are filed
  };
  // Reads the site's file and the stored state. Everything needed must outlive it, but `executor`
  // must end before it does. INVALID_ARGUMENT, NOT_FOUND: the files; UNAVAILABLE, DATA_LOSS: the
  // journal.
  static absl::StatusOr<std::unique_ptr<Webhooks>> Open(
      const std::string& path, const std::vector<std::string>& knowledge_directories, Needs needs);
  Webhooks(Site site, const Needs& needs);

  // Ends its threads; before `executor` ends.
  void Stop();

  http::Handler& handler() { return handler_; }
  const WebhookCounters& counters() const { return counters_; }
  const WebhookJournal& webhook_journal() const { return webhook_journal_; }
  const IngestDispatcher& dispatcher() const { return *dispatcher_; }

 private:
  absl::Status Begin(const Needs& needs);

  const Site site_;
  WebhookCounters counters_;
  WebhookJournal webhook_journal_;
  WebhookHandler handler_;
  std::unique_ptr<IngestDispatcher> dispatcher_;
  std::unique_ptr<Poller> poller_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOKS_H_
