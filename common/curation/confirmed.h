#ifndef COMMON_CURATION_CONFIRMED_H_
#define COMMON_CURATION_CONFIRMED_H_

#include "absl/status/statusor.h"
#include "common/curation/proposal.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::curation {

// The past incident that a diagnosis with a person's confirmation is, as a proposal: what was
// reported, the messages that its logs held, and what the checks found; the cause is the person's,
// whether or not Galen had named it. Its id holds the cause, so that a decision on one cause does
// not keep another from being proposed; the past incident's does not, so that one of a diagnosis is
// knowledge at a time. FAILED_PRECONDITION: nobody confirmed a cause. Pure.
absl::StatusOr<Proposal> ProposalOf(const galen::v1::Diagnosis& diagnosis);

}  // namespace galen::curation

#endif  // COMMON_CURATION_CONFIRMED_H_
