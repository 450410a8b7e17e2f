#ifndef BENCH_SCAN_STRINGS_H_
#define BENCH_SCAN_STRINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::bench {

// The literal stretches of a regular expression, `min_size` bytes or more, outside of groups,
// classes and repeats. Pure.
std::vector<std::string> LiteralsOf(absl::string_view pattern, std::size_t min_size);

// `count` different strings that logs of failing jobs hold: the literal stretches of the
// catalogue's patterns, then the names of its error codes. Fewer where the catalogue has fewer.
std::vector<std::string> SignalStrings(const knowledge::v1::KnowledgeBase& base, std::size_t count);

}  // namespace galen::bench

#endif  // BENCH_SCAN_STRINGS_H_
