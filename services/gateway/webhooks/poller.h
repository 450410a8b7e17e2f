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

// Gets a page of a sender's API, or the error. Blocks.
using Fetch = std::function<absl::StatusOr<std::string>(const std::string& url)>;
// Over HTTP, with the token of the endpoint as bearer.
Fetch MakeHttpFetch(const EndpointPoll& poll);

// `template_url` with its names in braces replaced, percent-encoded except for those of `settings`,
// which a site wrote. Pure.
std::string FillUrl(const std::string& template_url,
                    const std::map<std::string, std::string>& settings,
                    const std::map<std::string, std::string>& values);

// Asks one endpoint's sender for events since the last poll, and takes them like deliveries: known
// events are repeats. The journal keeps the position; the first poll of all begins now. Blocks.
// Returns the number of items found. On an error the items found before it are taken, and the next
// poll begins there.
absl::StatusOr<int> PollOnce(const Endpoint& endpoint, const Fetch& fetch,
                             WebhookJournal& webhook_journal, const Clock& clock);

// Polls all endpoints that have a poll, at the start and at intervals.
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
