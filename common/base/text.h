#ifndef COMMON_BASE_TEXT_H_
#define COMMON_BASE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace galen {

// Foreign text made fit for protos, terminals and logs: invalid UTF-8 becomes U+FFFD, ANSI escape
// sequences go, control characters except newline and tab become spaces, and the result is cut at
// a character boundary to at most `max_bytes`, ending in "..." when it was cut.
std::string CleanText(absl::string_view raw, std::size_t max_bytes);

// True when `text` is well-formed UTF-8.
bool IsUtf8(absl::string_view text);

}  // namespace galen

#endif  // COMMON_BASE_TEXT_H_
