#ifndef SERVICES_NODE_CHECKS_PATTERNS_H_
#define SERVICES_NODE_CHECKS_PATTERNS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace re2 {
class RE2;
}

namespace galen::node {

// The compiled form of a pattern of the catalogue, cached for the next run of a check: compiling it
// and building its automaton again takes longer than matching the input of most checks. At most a
// thousand are cached, then all are dropped. Thread-safe. The result may be not ok(): lint says so.
std::shared_ptr<const re2::RE2> CompiledPattern(const std::string& pattern);

// Patterns that are searched in one pass. Thread-safe.
class PatternSet {
 public:
  // The same set for the same patterns, kept as above. Patterns that do not compile match nothing.
  static std::shared_ptr<const PatternSet> Of(absl::Span<const std::string> patterns);

  ~PatternSet();
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  // The index of the first pattern, in the order given, that is found in `text`; -1: none is.
  int First(absl::string_view text) const;

 private:
  struct Matcher;
  explicit PatternSet(absl::Span<const std::string> patterns);

  std::unique_ptr<const Matcher> matcher_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_PATTERNS_H_
