#ifndef SERVICES_CONCLUSION_CITATIONS_H_
#define SERVICES_CONCLUSION_CITATIONS_H_

#include <string>
#include <vector>

#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// Adds to `report.evidence` what its causes cite, each id once, in the order of citation. Pure.
void FillEvidence(const galen::v1::EvidenceSet& evidence, galen::v1::Report& report);

// How many results there are of each status. Pure.
galen::v1::CheckCounts CountChecks(const galen::v1::EvidenceSet& evidence);

// What limited the answer: checks that were skipped or gave an error, grouped by why, one sentence
// each; and what summarization could not read. Pure.
std::vector<std::string> Limits(const galen::v1::EvidenceSet& evidence);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CITATIONS_H_
