#ifndef COMMON_REASONER_SUMMARIZE_H_
#define COMMON_REASONER_SUMMARIZE_H_

#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// A paragraph out of the description, the known messages and what they name; and the main category
// of the labels that the messages speak for with the most weight, "" when they speak for none.
// Pure.
v1::SummarizeAnswer Summarize(const v1::SummarizeQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SUMMARIZE_H_
