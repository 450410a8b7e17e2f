#ifndef TESTS_CHAOS_PROMISES_H_
#define TESTS_CHAOS_PROMISES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::chaos {

// The promises of Galen that the log of one diagnosis, complete and in order, breaks: numbers that
// are not dense from 1, another beginning than `created`, two ends without a person's message
// between them, anything after an end, a check that finished twice, a verdict that cites a check
// that is not in the log, no end at all. Empty: all are kept. Pure.
std::vector<std::string> BrokenPromises(absl::Span<const v1::DiagnosisEvent> log);

}  // namespace galen::chaos

#endif  // TESTS_CHAOS_PROMISES_H_
