#include "common/reasoner/site_history.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/incident_history/segment_builder.h"
#include "common/reasoner/retrieve.h"

namespace galen::reasoner {
namespace {

namespace fs = std::filesystem;
using knowledge::v1::PastIncident;

// Incidents per batch; each batch is on disk before the next one.
constexpr std::size_t kBatch = 512;

bool IsEmpty(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (absl::StartsWith(name, "segment-") || absl::StartsWith(name, "log-")) return false;
  }
  return true;
}

// Loads into a new directory: one index, written once.
absl::Status Load(const std::string& directory, absl::Span<const PastIncident> incidents) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  const std::string path = absl::StrCat(directory, "/loading-", getpid());
  const incident_history::HashedEmbedder embedder;
  absl::Status status;
  {
    GALEN_ASSIGN_OR_RETURN(
        const std::unique_ptr<incident_history::SegmentBuilder> builder,
        incident_history::SegmentBuilder::ToFile(path, embedder.name(), embedder.dimensions()));
    for (const PastIncident& incident : incidents) {
      if (status.ok()) status = builder->Add(DocumentOf(incident), embedder);
    }
    if (status.ok()) status = builder->Finish({});
  }
  if (status.ok()) status = incident_history::Store::Import(path, directory);
  if (!status.ok()) fs::remove(path, error);
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SiteHistory>> SiteHistory::Open(const std::string& directory) {
  std::unique_ptr<SiteHistory> history(new SiteHistory());
  GALEN_ASSIGN_OR_RETURN(history->store_,
                         incident_history::Store::Open(directory, history->embedder_, {}));
  return history;
}

absl::StatusOr<SiteHistory::Added> SiteHistory::Add(const std::string& directory,
                                                    absl::Span<const PastIncident> incidents) {
  Added result;
  if (IsEmpty(directory)) {
    GALEN_RETURN_IF_ERROR(Load(directory, incidents));
    result.added = incidents.size();
    return result;
  }
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
    if (store.view().Contains(document.id)) {
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
