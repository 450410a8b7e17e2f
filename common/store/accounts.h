#ifndef COMMON_STORE_ACCOUNTS_H_
#define COMMON_STORE_ACCOUNTS_H_

#include <map>
#include <string>

#include "absl/types/span.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::store {

// Adds counts that are not negative. A sum stops at the largest number.
void AddSpent(const v1::Spent& more, v1::Spent& spent);

// The language model use that the events record, by day ("2026-02-14", UTC). EventLog::SpentOn()
// adds these up. Endpoints' counts are not trusted: a negative one counts as 0, and the amount that
// one question adds is bounded.
std::map<std::string, v1::Spent> SpentByDay(absl::Span<const v1::DiagnosisEvent> events);

}  // namespace galen::store

#endif  // COMMON_STORE_ACCOUNTS_H_
