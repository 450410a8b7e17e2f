#ifndef COMMON_REASONER_SUMMARIZE_H_
#define COMMON_REASONER_SUMMARIZE_H_

#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// A paragraph from the description, the known messages and the entities in them; and the main
// category with the most weight among the labels of the messages, "": none. Pure.
v1::SummarizeAnswer Summarize(const v1::SummarizeQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SUMMARIZE_H_
