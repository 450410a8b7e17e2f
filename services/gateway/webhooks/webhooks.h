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
#include "services/gateway/webhooks/courier.h"
#include "services/gateway/webhooks/hook_numbers.h"
#include "services/gateway/webhooks/hooks.h"
#include "services/gateway/webhooks/ledger.h"
#include "services/gateway/webhooks/poller.h"

namespace galen::gateway::webhooks {

// All that a gateway has for webhooks, put together: what hears them, keeps them, delivers them,
// and looks for those that never came.
class Webhooks {
 public:
  struct Needs {
    store::Journal& journal;
    Upstream& upstream;
    RateGate& rates;
    const Clock& clock;
    Executor& executor;
    std::function<void(const std::string&)> tell;  // of what goes wrong, a sentence
    TicketHeard heard = nullptr;                   // where tickets are filed
  };
  // Reads the site's file and what is stored. Everything needed must outlive it, but `executor`
  // must end before it does. INVALID_ARGUMENT, NOT_FOUND the files; UNAVAILABLE, DATA_LOSS the
  // journal.
  static absl::StatusOr<std::unique_ptr<Webhooks>> Open(
      const std::string& path, const std::vector<std::string>& knowledge_directories, Needs needs);
  Webhooks(Site site, const Needs& needs);

  // Ends what works by itself; before `executor` ends.
  void Stop();

  http::Handler& handler() { return hooks_; }
  const HookNumbers& numbers() const { return numbers_; }
  const Ledger& ledger() const { return ledger_; }
  const Courier& courier() const { return *courier_; }

 private:
  absl::Status Begin(const Needs& needs);

  const Site site_;
  HookNumbers numbers_;
  Ledger ledger_;
  Hooks hooks_;
  std::unique_ptr<Courier> courier_;
  std::unique_ptr<Poller> poller_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOKS_H_
