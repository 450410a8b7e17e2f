#ifndef COMMON_REASONER_RETRIEVE_H_
#define COMMON_REASONER_RETRIEVE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/search.h"
#include "common/incident_history/store.h"
#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// A past incident as it stands in an index: found by title (twice), description, logs and
// environment; the payload is the rest of it, as a PastIncident. Pure.
incident_history::Document DocumentOf(const knowledge::v1::PastIncident& incident);

// What a tenant said of a past incident, as such a document: for diagnoses of that tenant alone.
// Pure.
incident_history::Document TenantDocumentOf(const knowledge::v1::PastIncident& incident);

// What the payload of such a document says; empty when it is none.
knowledge::v1::PastIncident IncidentOf(const incident_history::Document& document);

// Past incidents that a proposal of causes is made of, at most.
inline constexpr size_t kCandidates = 20;

// Past incidents, found by words and by vectors (common/incident_history): those of the knowledge,
// and on top of them those that a site has confirmed. Thread-safe.
class HistoryIndex {
 public:
  // Indexes `incidents` in memory; nothing is kept of them beyond the call. `confirmed` may be
  // null, else it must outlive the index; what is added to it is found at once.
  explicit HistoryIndex(absl::Span<const knowledge::v1::PastIncident* const> incidents,
                        const incident_history::Store* confirmed = nullptr);

  // The incidents that resemble `query`, best first, at most `limit`, each once. What a tenant said
  // of its own is searched for `tenant` alone.
  std::vector<incident_history::Hit> Search(absl::string_view query, absl::string_view tenant,
                                            size_t limit) const;

 private:
  const incident_history::HashedEmbedder embedder_;
  const incident_history::Store* const confirmed_;
  incident_history::View known_;
  std::map<std::string, incident_history::View, std::less<>> of_tenants_;
};

// The same of a site's incidents alone.
std::vector<incident_history::Hit> SearchConfirmed(const incident_history::Store& confirmed,
                                                   absl::string_view query, size_t limit);

// The words of people: the description and their answers to questions.
std::string WordsOf(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence);

// The lines of logs that hold a known message.
std::string MessagesOf(const galen::v1::EvidenceSet& evidence);

// The text that stands for an incident in a query: its description, what its signals say, and the
// words that a model drew from them.
std::string QueryText(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence);

// The most likely distinct causes among similar past incidents: at most `question.max_causes()`,
// each above a floor of similarity, weighed up by signals that speak for its label. Empty when
// nothing is similar enough. Pure.
v1::HistoryAnswer ProposeCauses(const knowledge::Knowledge& knowledge, const HistoryIndex& index,
                                const v1::HistoryQuestion& question);

// The same of past incidents that were found already, best first. Pure.
v1::HistoryAnswer CausesOf(const knowledge::Knowledge& knowledge,
                           std::vector<incident_history::Hit> hits,
                           const v1::HistoryQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RETRIEVE_H_
