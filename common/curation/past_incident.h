#ifndef COMMON_CURATION_PAST_INCIDENT_H_
#define COMMON_CURATION_PAST_INCIDENT_H_

#include <string>
#include <vector>

#include "common/curation/tickets.h"
#include "common/knowledge/knowledge.h"

namespace galen::curation {

// The ticket as a past incident with the cause `label`; long texts are cut. Pure.
knowledge::v1::PastIncident PastIncidentOf(const Ticket& ticket, const std::string& label,
                                           const std::vector<std::string>& verification);

struct Established {
  std::vector<knowledge::v1::PastIncident> incidents;
  // "ticket 4711: ...": why a ticket is left out.
  std::vector<std::string> left_out;
};

// The tickets with an established cause, which a site's history accepts without a review: those
// that name a leaf of the taxonomy. A ticket with a duplicate id is left out. Pure.
Established EstablishedOf(const std::vector<Ticket>& tickets,
                          const knowledge::Knowledge& knowledge);

}  // namespace galen::curation

#endif  // COMMON_CURATION_PAST_INCIDENT_H_
