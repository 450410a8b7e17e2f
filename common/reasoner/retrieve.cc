#include "common/reasoner/retrieve.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/incident_history/tokens.h"
#include "common/observability/log/log.h"

namespace galen::reasoner {
namespace {

using galen::v1::Signal;
using knowledge::v1::PastIncident;

// Below this, two tickets share little more than the words of the field.
constexpr double kSimilarityFloor = 0.12;
// A signal for the label is worth this much similarity.
constexpr double kSignalBonus[] = {0, 0.02, 0.06, 0.12};  // by Strength

std::string TextOf(const PastIncident& incident) {
  std::string text =
      absl::StrCat(incident.title(), "\n", incident.title(), "\n", incident.description(), "\n",
                   absl::StrJoin(incident.logs(), "\n"));
  const std::map<std::string, std::string> environment(incident.environment().begin(),
                                                       incident.environment().end());
  for (const auto& [key, value] : environment) absl::StrAppend(&text, "\n", value);
  return text;
}

std::vector<incident_history::Document> DocumentsOf(
    absl::Span<const PastIncident* const> incidents) {
  std::vector<incident_history::Document> documents;
  for (const PastIncident* incident : incidents) documents.push_back(DocumentOf(*incident));
  return documents;
}

// The title, only for incidents of the knowledge. Tickets that a site loaded are untrusted text.
std::string TitleOf(const knowledge::Knowledge& knowledge,
                    const incident_history::Document& document) {
  const auto& incidents = knowledge.base().incidents();
  const bool known =
      std::any_of(incidents.begin(), incidents.end(),
                  [&](const PastIncident& incident) { return incident.id() == document.id; });
  return known ? absl::StrCat(" (", IncidentOf(document).title(), ")") : "";
}

}  // namespace

incident_history::Document DocumentOf(const PastIncident& incident) {
  incident_history::Document document;
  document.id = incident.id().substr(0, incident_history::kMaxIdBytes);
  document.label = incident.label().substr(0, incident_history::kMaxIdBytes);
  document.text = TextOf(incident);
  if (document.text.size() > incident_history::kMaxTextBytes) {
    document.text.resize(incident_history::kMaxTextBytes);  // no more of it is read
  }
  PastIncident rest = incident;
  rest.clear_tenant_texts();
  rest.clear_description();
  rest.clear_logs();
  rest.clear_environment();
  document.payload = rest.SerializeAsString();
  if (document.payload.size() > incident_history::kMaxDocumentBytes) document.payload.clear();
  return document;
}

PastIncident IncidentOf(const incident_history::Document& document) {
  PastIncident incident;
  if (!incident.ParseFromString(document.payload)) incident.Clear();
  return incident;
}

incident_history::Document TenantDocumentOf(const PastIncident& incident) {
  const knowledge::v1::TenantTexts& own = incident.tenant_texts();
  PastIncident told = incident;
  told.clear_tenant_texts();
  told.set_title(own.title());
  told.set_description(own.description());
  *told.mutable_logs() = own.logs();
  *told.mutable_environment() = own.environment();
  *told.mutable_verification() = own.verification();
  told.set_resolution(own.resolution());
  told.set_reference(own.reference());
  return DocumentOf(told);
}

HistoryIndex::HistoryIndex(absl::Span<const PastIncident* const> incidents,
                           const incident_history::Store* confirmed)
    : confirmed_(confirmed), known_(DocumentsOf(incidents), embedder_) {
  std::map<std::string, std::vector<incident_history::Document>> of_tenants;
  for (const PastIncident* incident : incidents) {
    if (!incident->has_tenant_texts()) continue;
    of_tenants[incident->tenant_texts().tenant()].push_back(TenantDocumentOf(*incident));
  }
  for (auto& [tenant, documents] : of_tenants) {
    of_tenants_.try_emplace(tenant, std::move(documents), embedder_);
  }
}

std::vector<incident_history::Hit> HistoryIndex::Search(absl::string_view query,
                                                        absl::string_view tenant,
                                                        size_t limit) const {
  std::vector<const incident_history::Index*> indexes = {&known_};
  if (confirmed_ != nullptr) indexes.push_back(confirmed_);
  const auto own = of_tenants_.find(tenant);
  const bool has_own = own != of_tenants_.end();
  if (has_own) indexes.push_back(&own->second);
  incident_history::Answer answer =
      incident_history::Search(indexes, embedder_, query, {.limit = has_own ? 2 * limit : limit});
  for (const absl::Status& failed : answer.failed) {
    log::Warning("past incidents were left out of a search", {{"error", failed.ToString()}});
  }
  std::vector<incident_history::Hit>& hits = answer.hits;
  if (!has_own) return std::move(hits);
  // Galen's and the tenant's texts of one incident count as one.
  std::set<std::string> seen;
  std::erase_if(
      hits, [&](const incident_history::Hit& hit) { return !seen.insert(hit.document.id).second; });
  if (hits.size() > limit) hits.resize(limit);
  return std::move(hits);
}

incident_history::Answer SearchConfirmed(const incident_history::Store& confirmed,
                                         absl::string_view query, size_t limit) {
  static const auto* const embedder = new incident_history::HashedEmbedder;
  return incident_history::Search({&confirmed}, *embedder, query, {.limit = limit});
}

std::string WordsOf(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence) {
  return absl::StrCat(incident.description(), "\n", absl::StrJoin(evidence.feedback(), "\n"));
}

std::string MessagesOf(const galen::v1::EvidenceSet& evidence) {
  std::string text;
  for (const Signal& signal : evidence.summary().signals()) {
    if (signal.where() != galen::v1::DESCRIPTION) absl::StrAppend(&text, signal.excerpt(), "\n");
  }
  return text;
}

std::string QueryText(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence) {
  std::string text = incident.description();
  const auto& environment = incident.environment();
  for (const std::string* word :
       {&environment.gpu(), &environment.driver(), &environment.cuda(), &environment.os(),
        &environment.nic(), &incident.workload().framework()}) {
    if (!word->empty()) absl::StrAppend(&text, "\n", *word);
  }
  for (const std::string& said : evidence.feedback()) absl::StrAppend(&text, "\n", said);
  for (const Signal& signal : evidence.summary().signals()) {
    absl::StrAppend(&text, "\n", signal.excerpt());
  }
  return text;
}

v1::HistoryAnswer ProposeCauses(const knowledge::Knowledge& knowledge, const HistoryIndex& index,
                                const v1::HistoryQuestion& question) {
  return CausesOf(knowledge,
                  index.Search(QueryText(question.incident(), question.evidence()),
                               question.tenant(), kCandidates),
                  question);
}

v1::HistoryAnswer CausesOf(const knowledge::Knowledge& knowledge,
                           std::vector<incident_history::Hit> hits,
                           const v1::HistoryQuestion& question) {
  std::map<std::string, double> bonus;
  for (const Signal& signal : question.evidence().summary().signals()) {
    const auto strength = static_cast<size_t>(signal.strength());
    if (strength >= std::size(kSignalBonus)) continue;
    for (const std::string& label : signal.labels()) {
      bonus[label] = std::max(bonus[label], kSignalBonus[strength]);
    }
  }
  hits.erase(std::remove_if(hits.begin(), hits.end(),
                            [&](const incident_history::Hit& hit) {
                              return knowledge.FindLabel(hit.document.label) == nullptr;
                            }),
             hits.end());
  std::vector<incident_history::Cause> ranked =
      incident_history::DistinctCauses(hits, kSimilarityFloor);
  const auto best_fused = [&](const incident_history::Cause& cause) {
    return hits[cause.hits[0]].fused;
  };
  for (incident_history::Cause& cause : ranked) {
    if (const auto it = bonus.find(cause.label); it != bonus.end()) cause.score += it->second;
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const incident_history::Cause& a, const incident_history::Cause& b) {
                     if (a.score != b.score) return a.score > b.score;
                     return best_fused(a) > best_fused(b);
                   });
  const size_t wanted = std::max(question.max_causes(), 1);
  v1::HistoryAnswer answer;
  for (const incident_history::Cause& found : ranked) {
    if (answer.causes_size() == static_cast<int>(wanted)) break;
    v1::HistoryAnswer::Cause& cause = *answer.add_causes();
    cause.set_label(found.label);
    // A past case proposes, it does not prove: 0.5 is the maximum.
    cause.set_probability(std::min(0.5, found.score));
    const incident_history::Document& nearest = hits[found.hits[0]].document;
    cause.set_reason(absl::StrCat(
        "resembles ", nearest.id, TitleOf(knowledge, nearest),
        found.hits.size() > 1 ? absl::StrCat(" and ", found.hits.size() - 1, " more") : "",
        bonus.contains(found.label) ? ", and messages in the texts speak for it" : ""));
    for (const size_t hit : found.hits) cause.add_incidents(hits[hit].document.id);
  }
  return answer;
}

}  // namespace galen::reasoner
