#ifndef COMMON_REASONER_RETRIEVE_H_
#define COMMON_REASONER_RETRIEVE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/memory_index.h"
#include "common/incident_history/search.h"
#include "common/incident_history/store.h"
#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// A past incident as a document of an index: searched by title (twice), description, logs and
// environment; the payload is the rest of it, as a PastIncident. Pure.
incident_history::Document DocumentOf(const knowledge::v1::PastIncident& incident);

// A tenant's own texts of a past incident, as such a document: only for diagnoses of that tenant.
// Pure.
incident_history::Document TenantDocumentOf(const knowledge::v1::PastIncident& incident);

// The past incident in the payload of such a document; empty: the payload is invalid.
knowledge::v1::PastIncident IncidentOf(const incident_history::Document& document);

// Maximum number of past incidents behind a proposal of causes.
inline constexpr size_t kCandidates = 20;

// Past incidents, searched by words and by vectors (common/incident_history): those of the
// knowledge, and those that a site has confirmed. Thread-safe.
class HistoryIndex {
 public:
  // Indexes `incidents` in memory; they are used only during the call. `confirmed` may be null,
  // otherwise it must outlive the index; additions to it are found at once.
  explicit HistoryIndex(absl::Span<const knowledge::v1::PastIncident* const> incidents,
                        const incident_history::Store* confirmed = nullptr);

  // The incidents that resemble `query`, best first, at most `limit`, each once. A tenant's own
  // texts are searched only for that `tenant`.
  std::vector<incident_history::Hit> Search(absl::string_view query, absl::string_view tenant,
                                            size_t limit) const;

 private:
  const incident_history::HashedEmbedder embedder_;
  const incident_history::Store* const confirmed_;
  const incident_history::MemoryIndex known_;
  std::map<std::string, const incident_history::MemoryIndex, std::less<>> of_tenants_;
};

// As HistoryIndex::Search(), but only of a site's incidents, and with what could not be read.
incident_history::Answer SearchConfirmed(const incident_history::Store& confirmed,
                                         absl::string_view query, size_t limit);

// Texts written by people: the description and their answers to questions.
std::string WordsOf(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence);

// The lines of logs with a known message.
std::string MessagesOf(const galen::v1::EvidenceSet& evidence);

// The query text of an incident: its description and environment, what people said later, and the
// lines of its signals.
std::string QueryText(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence);

// The most likely distinct causes among similar past incidents: at most `question.max_causes()`,
// each above a floor of similarity, with a bonus for signals that support its label. Empty: nothing
// is similar enough. Pure.
v1::HistoryAnswer ProposeCauses(const knowledge::Knowledge& knowledge, const HistoryIndex& index,
                                const v1::HistoryQuestion& question);

// As ProposeCauses(), for past incidents that were already found, best first. Pure.
v1::HistoryAnswer CausesOf(const knowledge::Knowledge& knowledge,
                           std::vector<incident_history::Hit> hits,
                           const v1::HistoryQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RETRIEVE_H_
