#ifndef TESTS_CHAOS_PROMISES_H_
#define TESTS_CHAOS_PROMISES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::chaos {

// What the log of one diagnosis, whole and in order, says against Galen's promises: numbers that
// are not dense from 1, another beginning than `created`, two ends without a person's word between
// them, anything after an end, a check that finished twice, a verdict that cites a check which the
// log does not hold, no end at all. Empty: all are kept. Pure.
std::vector<std::string> BrokenPromises(absl::Span<const v1::DiagnosisEvent> log);

}  // namespace galen::chaos

#endif  // TESTS_CHAOS_PROMISES_H_
