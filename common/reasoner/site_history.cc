#include "common/reasoner/site_history.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/reasoner/retrieve.h"

namespace galen::reasoner {
namespace {

using knowledge::v1::PastIncident;

// Incidents per batch; each batch is on disk before the next one.
constexpr std::size_t kBatch = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<SiteHistory>> SiteHistory::Open(const std::string& directory) {
  std::unique_ptr<SiteHistory> history(new SiteHistory());
  GALEN_ASSIGN_OR_RETURN(history->store_,
                         incident_history::Store::Open(directory, history->embedder_));
  // Those of another release's embedder are of no use.
  GALEN_RETURN_IF_ERROR(history->store_->MakeVectors());
  return history;
}

absl::StatusOr<SiteHistory::Added> SiteHistory::Add(const std::string& directory,
                                                    absl::Span<const PastIncident> incidents) {
  Added result;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<SiteHistory> history, Open(directory));
  incident_history::Store& store = *history->store_;
  std::vector<incident_history::Document> batch;
  const auto flush = [&]() -> absl::Status {
    GALEN_RETURN_IF_ERROR(store.Add(batch));
    result.added += batch.size();
    batch.clear();
    return absl::OkStatus();
  };
  for (const PastIncident& incident : incidents) {
    incident_history::Document document = DocumentOf(incident);
    GALEN_ASSIGN_OR_RETURN(const bool known, store.Contains(document.id));
    if (known) {
      ++result.known;
      continue;
    }
    batch.push_back(std::move(document));
    if (batch.size() == kBatch) GALEN_RETURN_IF_ERROR(flush());
  }
  GALEN_RETURN_IF_ERROR(flush());
  return result;
}

}  // namespace galen::reasoner
