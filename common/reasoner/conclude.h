#ifndef COMMON_REASONER_CONCLUDE_H_
#define COMMON_REASONER_CONCLUDE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Separates the primary cause from its effects and from independent causes.
//
// A confirmed cause is an effect of another one on the same node if the other lists its label, or
// explains all its evidence. If one of two look-alikes has opposing evidence, the other one is the
// cause. The primary cause is the remaining one that explains the most evidence; then the earliest
// event, the probability and the label decide. Logged events and leaves with evidence are also
// effects if a cause on the same node lists them, judged or not. If nothing is confirmed, the
// likeliest leaves are the suspects. Pure.
v1::ConcludeAnswer Conclude(const Case& the_case, const v1::ConcludeQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_CONCLUDE_H_
