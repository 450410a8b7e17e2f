#ifndef SERVICES_GATEWAY_WEBHOOKS_POLLER_H_
#define SERVICES_GATEWAY_WEBHOOKS_POLLER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/periodic_task.h"
#include "services/gateway/webhooks/endpoints.h"
#include "services/gateway/webhooks/webhook_counters.h"
#include "services/gateway/webhooks/webhook_journal.h"

namespace galen::gateway::webhooks {

// Gets a page of a sender's interface; blocks. The status says why there is none.
using Fetch = std::function<absl::StatusOr<std::string>(const std::string& url)>;
// Over HTTP, with the token of the endpoint as bearer.
Fetch MakeHttpFetch(const EndpointPoll& poll);

// `template_url` with its names in braces replaced, each percent-encoded but for those of
// `settings`, which a site wrote. Pure.
std::string FillUrl(const std::string& template_url,
                    const std::map<std::string, std::string>& settings,
                    const std::map<std::string, std::string>& values);

// Looks for what one endpoint's sender did since the last look, and takes it as if it had been
// delivered: what was, is known as a repeat. Where the looks begin is kept in the journal; the
// first one ever begins now. Blocks. The number of items found; what failed: what was found before
// it is taken, and the next look begins there.
absl::StatusOr<int> PollOnce(const Endpoint& endpoint, const Fetch& fetch,
                             WebhookJournal& webhook_journal, const Clock& clock);

// Does so for all endpoints that have it, at the start and every so often.
class Poller {
 public:
  // All must outlive it.
  Poller(const Site& site, std::function<Fetch(const EndpointPoll&)> make_fetch,
         WebhookJournal& webhook_journal, const Clock& clock, WebhookCounters& counters,
         const std::function<void(const std::string&)>& tell);
  // Waits for the pages that are being read.
  ~Poller();

 private:
  std::vector<std::unique_ptr<PeriodicTask>> tasks_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_POLLER_H_
