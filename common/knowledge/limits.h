#ifndef COMMON_KNOWLEDGE_LIMITS_H_
#define COMMON_KNOWLEDGE_LIMITS_H_

#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// Marks those findings of `result` that break their declared limits as abnormal, and makes a PASS
// with such a finding a FAIL. An unknown value breaks no limit. Pure.
void ApplyLimits(const v1::Check& spec, galen::v1::CheckResult& result);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_LIMITS_H_
