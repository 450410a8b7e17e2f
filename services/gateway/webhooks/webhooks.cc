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
      ledger_(needs.journal, needs.clock, needs.executor, Ledger::Options()),
      hooks_(site_, ledger_, needs.rates, needs.clock, needs.executor, numbers_, Hooks::Options(),
             needs.heard) {}

absl::Status Webhooks::Begin(const Needs& needs) {
  GALEN_RETURN_IF_ERROR(ledger_.Open());
  courier_ = std::make_unique<Courier>(ledger_, needs.upstream, needs.rates, Courier::Options(),
                                       needs.tell);
  ledger_.OnOpened(
      [courier = courier_.get()](const std::vector<std::string>& names) { courier->Wake(names); });
  poller_ =
      std::make_unique<Poller>(site_, &MakeHttpFetch, ledger_, needs.clock, numbers_, needs.tell);
  return absl::OkStatus();
}

void Webhooks::Stop() {
  poller_.reset();
  courier_->Stop();
}

}  // namespace galen::gateway::webhooks
