#ifndef COMMON_TELEMETRY_SELECTOR_H_
#define COMMON_TELEMETRY_SELECTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/telemetry/source.h"

namespace re2 {
class RE2;
}

namespace galen::telemetry {

// The part of PromQL that chooses series: name{label="value", other!="x", third=~"a|b",
// fourth!~"c.*"}. Immutable.
class Selector {
 public:
  // INVALID_ARGUMENT: it is not a selector, is longer than 8 KiB, or has an invalid pattern.
  // UNIMPLEMENTED: more than a selector (a function's call, an operator, a range or an offset).
  static absl::StatusOr<Selector> Parse(absl::string_view text);

  // A label that is missing has the value "", as in PromQL; patterns match whole values.
  bool Matches(const Labels& labels) const;

 private:
  struct Matcher {
    std::string label;
    std::string value;
    std::shared_ptr<const re2::RE2> pattern;  // null: `value` itself
    bool equal = true;
  };

  std::vector<Matcher> matchers_;
};

// `value` as PromQL writes a string.
std::string Quote(absl::string_view value);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_SELECTOR_H_
