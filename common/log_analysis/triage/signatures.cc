#include "common/log_analysis/triage/signatures.h"

namespace galen::triage {

Signatures SignaturesOf(const knowledge::Knowledge& knowledge) {
  Signatures signatures;
  const knowledge::v1::Check* check = knowledge.FindCheck("log.triage");
  if (check == nullptr) return signatures;
  for (const knowledge::v1::CheckDatum& datum : check->data()) {
    if (!datum.pattern().empty()) signatures.emplace_back(datum.name(), datum.pattern());
  }
  return signatures;
}

}  // namespace galen::triage
