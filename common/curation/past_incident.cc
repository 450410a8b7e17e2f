#include "common/curation/past_incident.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::curation {
namespace {

constexpr std::size_t kMaxIncidentLogs = 30;
constexpr std::size_t kMaxIncidentDescription = 8000;
constexpr std::size_t kMaxShown = 80;

}  // namespace

knowledge::v1::PastIncident PastIncidentOf(const Ticket& ticket, const std::string& label,
                                           const std::vector<std::string>& verification) {
  knowledge::v1::PastIncident incident;
  incident.set_id(ticket.id);
  incident.set_date(ticket.date);
  incident.set_title(ticket.title);
  incident.set_description(CleanText(ticket.description, kMaxIncidentDescription));
  for (std::size_t i = 0; i < std::min(kMaxIncidentLogs, ticket.logs.size()); ++i) {
    incident.add_logs(ticket.logs[i]);
  }
  for (const auto& [key, value] : ticket.environment) {
    (*incident.mutable_environment())[key] = value;
  }
  incident.set_label(label);
  for (const std::string& step : verification) incident.add_verification(step);
  incident.set_resolution(CleanText(ticket.resolution, kMaxIncidentDescription));
  incident.set_reference(ticket.reference);
  return incident;
}

Established EstablishedOf(const std::vector<Ticket>& tickets,
                          const knowledge::Knowledge& knowledge) {
  Established established;
  absl::flat_hash_set<std::string> ids;
  for (const Ticket& ticket : tickets) {
    const std::string who = absl::StrCat("ticket ", CleanText(ticket.id, kMaxShown), ": ");
    const knowledge::v1::Label* const label = knowledge.FindLabel(ticket.label);
    if (ticket.id.empty()) {
      established.left_out.push_back(absl::StrCat(who, "line ", ticket.line, " has no id"));
    } else if (ticket.label.empty()) {
      established.left_out.push_back(
          absl::StrCat(who, "names no cause; `galen kb ingest` proposes one"));
    } else if (label == nullptr || !knowledge::IsLeaf(*label)) {
      established.left_out.push_back(absl::StrCat(who, "\"", CleanText(ticket.label, kMaxShown),
                                                  "\" is not a leaf of the taxonomy"));
    } else if (!ids.insert(ticket.id).second) {
      established.left_out.push_back(absl::StrCat(who, "occurs twice"));
    } else {
      established.incidents.push_back(PastIncidentOf(ticket, ticket.label, ticket.verification));
    }
  }
  return established;
}

}  // namespace galen::curation
