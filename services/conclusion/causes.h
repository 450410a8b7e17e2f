#ifndef SERVICES_CONCLUSION_CAUSES_H_
#define SERVICES_CONCLUSION_CAUSES_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::conclusion {

// A hypothesis as the report shows it: what speaks for it when it was confirmed, what speaks
// against it when it was rejected, what is missing when it is undecided. Pure.
galen::v1::Cause MakeCause(const knowledge::Knowledge& knowledge,
                           const galen::v1::Hypothesis& hypothesis);

// An effect with the cause that explains it. Pure.
galen::v1::Cause MakeEffect(const knowledge::Knowledge& knowledge,
                            const reasoner::v1::ConcludeAnswer::Effect& effect);

// A hypothesis that nobody tested, as the likeliest cause: with the signals and past incidents
// ("incident/<id>") that it came from. Pure.
galen::v1::Cause MakePresumed(const knowledge::Knowledge& knowledge,
                              const galen::v1::Hypothesis& hypothesis);

// The causes of a report, sorted out. Hypotheses that were never judged stand nowhere. Rejected
// ones are sorted by how easily they are taken for the primary cause, then by probability;
// undecided ones by probability. The hypothesis that the request wants presumed is named when
// nothing is confirmed, it was not tested, and it cites what it came from. Pure.
void FillCauses(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                const reasoner::v1::ConcludeAnswer& answer, galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CAUSES_H_
