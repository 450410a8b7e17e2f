#ifndef COMMON_REASONER_SITE_HISTORY_H_
#define COMMON_REASONER_SITE_HISTORY_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/store.h"
#include "common/knowledge/knowledge.h"

namespace galen::reasoner {

// A site's own past incidents, more than a person would keep in YAML: a directory that
// incident_history::Store keeps, found beside those of the knowledge. One process has it open at a
// time. Thread-safe.
class SiteHistory {
 public:
  // Opens the directory or makes it. Errors: those of incident_history::Store::Open.
  static absl::StatusOr<std::unique_ptr<SiteHistory>> Open(const std::string& directory);

  struct Added {
    std::size_t added = 0;
    std::size_t known = 0;  // their ids were there already; they stay as they were
  };
  // Adds incidents, whose ids differ, to the directory, and makes it if need be. All of them are on
  // the disk when it returns OK. A first load writes the index at once, so that hundreds of
  // thousands take minutes. Errors: those of incident_history::Store; what was added before one
  // stays.
  static absl::StatusOr<Added> Add(const std::string& directory,
                                   absl::Span<const knowledge::v1::PastIncident> incidents);

  const incident_history::Store& store() const { return *store_; }

 private:
  SiteHistory() = default;

  const incident_history::HashedEmbedder embedder_{};
  std::unique_ptr<incident_history::Store> store_;
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SITE_HISTORY_H_
