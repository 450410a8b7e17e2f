#ifndef COMMON_REASONER_CONCLUDE_H_
#define COMMON_REASONER_CONCLUDE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Separates the primary cause from its effects and from what stands beside it.
//
// A confirmed cause is an effect of another one on the same node when the other lists its label, or
// accounts for all that it rests on. Of two look-alikes the one that something speaks against gives
// way. Of what is left the primary one explains the most evidence; then the earliest event, the
// probability and the label decide. Effects are also events that were logged, and leaves with
// evidence, that a cause lists and that sit on its node, whether they were judged or not. Where
// nothing is confirmed the likeliest leaves are the suspects. Pure.
v1::ConcludeAnswer Conclude(const Case& the_case, const v1::ConcludeQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_CONCLUDE_H_
