#include "services/gateway/webhooks/webhooks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::gateway::webhooks {

absl::StatusOr<std::unique_ptr<Webhooks>> Webhooks::Open(
    const std::string& path, const std::vector<std::string>& knowledge_directories, Needs needs) {
  GALEN_ASSIGN_OR_RETURN(Site site, LoadSite(path, knowledge_directories));
  for (const std::string& warning : site.warnings) needs.tell(warning);
  auto made = std::make_unique<Webhooks>(std::move(site), needs);
  GALEN_RETURN_IF_ERROR(made->Begin(needs));
  return made;
}

Webhooks::Webhooks(Site site, const Needs& needs)
    : site_(std::move(site)),
      webhook_journal_(needs.journal, needs.clock, needs.executor, WebhookJournal::Options()),
      handler_(site_, webhook_journal_, needs.rates, needs.clock, needs.executor, counters_,
               WebhookHandler::Options(), needs.heard) {}

absl::Status Webhooks::Begin(const Needs& needs) {
  GALEN_RETURN_IF_ERROR(webhook_journal_.Open());
  dispatcher_ = std::make_unique<IngestDispatcher>(webhook_journal_, needs.upstream, needs.rates,
                                                   IngestDispatcher::Options(), needs.tell);
  webhook_journal_.OnOpened(
      [dispatcher = dispatcher_.get()](const std::vector<std::string>& names) {
        dispatcher->Wake(names);
      });
  poller_ = std::make_unique<Poller>(site_, &MakeHttpFetch, webhook_journal_, needs.clock,
                                     counters_, needs.tell);
  return absl::OkStatus();
}

void Webhooks::Stop() {
  poller_.reset();
  dispatcher_->Stop();
}

}  // namespace galen::gateway::webhooks
