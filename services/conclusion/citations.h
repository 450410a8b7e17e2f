#ifndef SERVICES_CONCLUSION_CITATIONS_H_
#define SERVICES_CONCLUSION_CITATIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// Prefix of the evidence id of a past incident.
inline constexpr absl::string_view kIncidentPrefix = "incident/";

// Adds the citations of the causes to `report.evidence`, each id once, in the order of citation.
// Pure.
void FillEvidence(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence,
                  galen::v1::Report& report);

// The number of results of each status. Pure.
galen::v1::CheckCounts CountChecks(const galen::v1::EvidenceSet& evidence);

// Limits of the answer: checks that were skipped or failed, grouped by reason, one sentence each;
// and inputs that summarization could not read. Pure.
std::vector<std::string> Limits(const galen::v1::EvidenceSet& evidence);

// Checks that a search which ran some could have run but did not; "" if there are none. Pure.
std::string LeftOut(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CITATIONS_H_
