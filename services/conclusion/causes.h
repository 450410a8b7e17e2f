#ifndef SERVICES_CONCLUSION_CAUSES_H_
#define SERVICES_CONCLUSION_CAUSES_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::conclusion {

// A hypothesis in the form of the report: the evidence for it if it was confirmed, the evidence
// against it if it was rejected, the missing evidence if it is undecided. Pure.
galen::v1::Cause MakeCause(const knowledge::Knowledge& knowledge,
                           const galen::v1::Hypothesis& hypothesis);

// An effect with the cause that explains it. Pure.
galen::v1::Cause MakeEffect(const knowledge::Knowledge& knowledge,
                            const reasoner::v1::ConcludeAnswer::Effect& effect);

// An untested hypothesis, as the likeliest cause: with the signals and past incidents
// ("incident/<id>") that it came from. Pure.
galen::v1::Cause MakePresumed(const knowledge::Knowledge& knowledge,
                              const galen::v1::Hypothesis& hypothesis);

// Sorts the causes of a report. Hypotheses that were never judged are omitted. Rejected ones are
// ordered by how easily they are mistaken for the primary cause, then by probability; undecided
// ones by probability. The hypothesis that the request wants presumed is named if nothing is
// confirmed, it was not tested, and it cites its origin. Pure.
void FillCauses(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                const reasoner::v1::ConcludeAnswer& answer, galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CAUSES_H_
