#ifndef SERVICES_CONCLUSION_CITATIONS_H_
#define SERVICES_CONCLUSION_CITATIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// What the evidence id of a past incident begins with.
inline constexpr absl::string_view kIncidentPrefix = "incident/";

// Adds to `report.evidence` what its causes cite, each id once, in the order of citation. Pure.
void FillEvidence(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence,
                  galen::v1::Report& report);

// How many results there are of each status. Pure.
galen::v1::CheckCounts CountChecks(const galen::v1::EvidenceSet& evidence);

// What limited the answer: checks that were skipped or gave an error, grouped by why, one sentence
// each; and what summarization could not read. Pure.
std::vector<std::string> Limits(const galen::v1::EvidenceSet& evidence);

// Which checks a search that ran some did not run though it could have; "" when there are none.
// Pure.
std::string LeftOut(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CITATIONS_H_
