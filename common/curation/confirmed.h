#ifndef COMMON_CURATION_CONFIRMED_H_
#define COMMON_CURATION_CONFIRMED_H_

#include "absl/status/statusor.h"
#include "common/curation/proposal.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::curation {

// The proposal of a past incident from a diagnosis whose cause a person confirmed: the report, the
// messages in its logs, and the findings of the checks. The cause is the person's, even if Galen
// did not name it. The proposal's id contains the cause, so that a decision on one cause does not
// block a proposal of another. The past incident's id does not, so that only one of a diagnosis is
// knowledge at a time.
//
// If the person confirmed a cause in words (kCauseInWords), a new label is proposed with that
// incident: below the parent of the likeliest cause of the report, named after the words, and
// without a rule, so that it is not accepted before a person has written one. FAILED_PRECONDITION:
// nobody confirmed a cause. Pure.
absl::StatusOr<Proposal> ProposalOf(const galen::v1::Diagnosis& diagnosis);

}  // namespace galen::curation

#endif  // COMMON_CURATION_CONFIRMED_H_
