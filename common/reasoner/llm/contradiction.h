#ifndef COMMON_REASONER_LLM_CONTRADICTION_H_
#define COMMON_REASONER_LLM_CONTRADICTION_H_

#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner::llm {

// The fact that excludes a cause: a true refute rule of its label, if the built-in reasoner rejects
// the cause. "": none. Pure.
std::string Contradiction(const knowledge::Knowledge& knowledge,
                          const galen::v1::EvidenceSet& evidence,
                          const galen::v1::Verdict& verdict);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CONTRADICTION_H_
