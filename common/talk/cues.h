#ifndef COMMON_TALK_CUES_H_
#define COMMON_TALK_CUES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}

namespace galen::talk {

// What the words around an address or a port say of it. English, lower case. All pure; the patterns
// are compiled once and live for ever.

bool Has(absl::string_view text, const re2::RE2* pattern);

// Words before an address that keep it out.
const re2::RE2* DeniedBefore();
// Words before an address that say that it is another thing than a machine to be examined.
const re2::RE2* OtherBefore();
// Words behind an address that keep it out.
const re2::RE2* DeniedAfter();
// The address before these words gives way to the one behind them.
const re2::RE2* Becomes();

// `between` only connects two addresses of a list.
bool Connects(absl::string_view between);
// The sentence corrects what was said before it.
bool IsCorrection(const std::string& lower);
// It adds to what was said.
bool Adds(const std::string& lower);
// It is about all that were named.
bool IsOfAll(const std::string& lower);
// The port between `before` and `after` is of another service, or is denied.
bool IsOtherPort(absl::string_view before, absl::string_view after);

}  // namespace galen::talk

#endif  // COMMON_TALK_CUES_H_
