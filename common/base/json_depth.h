#ifndef COMMON_BASE_JSON_DEPTH_H_
#define COMMON_BASE_JSON_DEPTH_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace galen {

// Limits on a stranger's JSON text. They bound the parser's stack, which grows by a level for each
// level of nesting, and its memory: a value takes up to eighty bytes however short its text is.
struct JsonLimits {
  int depth = 64;
  std::size_t values = std::size_t{1} << 18;
};

// Whether a text keeps to the limits, decided before a parser sees it. For a text that is not JSON
// it reports no less than a parser would find. Pure.
bool JsonKeepsTo(const JsonLimits& limits, absl::string_view text);

// Whether the brackets of a JSON text, outside of its strings, nest deeper than `most`. Decided
// before a parser, which recurses once a level, sees a stranger's text. For a text that is not JSON
// it reports no less than a parser would find. Pure.
bool JsonNestsDeeperThan(absl::string_view text, int most);

}  // namespace galen

#endif  // COMMON_BASE_JSON_DEPTH_H_
