#include <vector>

#include "services/node/checks/net/net_checks.h"
#include "tests/fuzz/check_parsers.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = CheckParsers(node::NetChecks());
  return kParsers;
}

}  // namespace galen::fuzz
