#ifndef COMMON_BASE_JSON_DEPTH_H_
#define COMMON_BASE_JSON_DEPTH_H_

#include "absl/strings/string_view.h"

namespace galen {

// Whether the brackets of a JSON text, outside of its strings, nest deeper than `most`. Told before
// a parser, which calls itself once a level, sees what a stranger sent. Of a text that is no JSON
// it says no less than a parser would find. Pure.
bool JsonNestsDeeperThan(absl::string_view text, int most);

}  // namespace galen

#endif  // COMMON_BASE_JSON_DEPTH_H_
