#ifndef COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::triage {

// Signatures of the check log.triage of `knowledge`, in its order; empty: it has no such check.
Signatures SignaturesOf(const knowledge::Knowledge& knowledge);

// The meaning of a signature's name for the lines that match it.
struct SignatureName {
  enum class Kind {
    kFailure,
    kHarmless,   // "none:...": the line only looks like a failure
    kDone,       // "done:...": the program ended normally
    kConnected,  // "connected:...": the processes of the job found each other
  };
  Kind kind = Kind::kFailure;
  bool of_survivor = false;  // "after:...": the line reports the loss of a peer
  bool of_start = false;     // "start:...": a process did not find the others yet
  absl::string_view name;    // without these prefixes
};
SignatureName ParseSignatureName(absl::string_view name);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_SIGNATURES_H_
