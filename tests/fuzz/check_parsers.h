#ifndef TESTS_FUZZ_CHECK_PARSERS_H_
#define TESTS_FUZZ_CHECK_PARSERS_H_

#include <vector>

#include "absl/types/span.h"
#include "services/node/checks/check.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {

// The knowledge that ships.
const knowledge::Knowledge& TheKnowledge();

// Every check of `group` on a FuzzHost, made into a result as the executor makes it. A result that
// says that the check itself is wrong (a finding that it does not declare) counts as a crash.
std::vector<Parser> CheckParsers(absl::Span<const node::NamedCheck> group);

// The checks that the knowledge declares whole (kind EXTRACT), likewise.
std::vector<Parser> ExtractParsers();

}  // namespace galen::fuzz

#endif  // TESTS_FUZZ_CHECK_PARSERS_H_
