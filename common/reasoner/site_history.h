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

// A site's own past incidents, too many for YAML: a directory of incident_history::Store, searched
// together with those of the knowledge. One process has it open at a time. Thread-safe.
class SiteHistory {
 public:
  // Opens or creates the directory. Errors: those of incident_history::Store::Open.
  static absl::StatusOr<std::unique_ptr<SiteHistory>> Open(const std::string& directory);

  struct Added {
    std::size_t added = 0;
    std::size_t known = 0;  // their ids existed already; they are unchanged
  };
  // Adds incidents with distinct ids to the directory; creates it if needed. All of them are on
  // disk when it returns OK. Errors: those of incident_history::Store; incidents added before the
  // error stay.
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
