#include <vector>

#include "tests/fuzz/check_parsers.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = ExtractParsers();
  return kParsers;
}

}  // namespace galen::fuzz
