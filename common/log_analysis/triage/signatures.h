#ifndef COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_

#include "common/knowledge/knowledge.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::triage {

// What the check log.triage of `knowledge` goes by, in its order; empty where it has no such check.
Signatures SignaturesOf(const knowledge::Knowledge& knowledge);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_
