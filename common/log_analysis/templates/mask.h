#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace galen::log_templates {

// What stands for a part that changes.
inline constexpr absl::string_view kMask = "<*>";

// Of a token, what is looked at.
inline constexpr std::size_t kMostOfToken = 256;
// Of every two characters at most one becomes a mask.
inline constexpr std::size_t kMostMasked = (kMostOfToken + 1) * 2;

// Writes `token`, which holds no space, to `out` with its changing parts masked, and gives the
// length: numbers, what is written in hexadecimal digits (addresses, UUIDs, hashes), IP addresses
// with their ports, dates and times as one; digits within words ("rank<*>", "<*>ms"); absolute
// paths and what follows the scheme of a URL. Masks that only a joint like "." or ":" parts are
// one. `out` has kMostMasked bytes. Looks at each byte a bounded number of times. Pure.
std::size_t MaskToken(absl::string_view token, char* out);

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_
