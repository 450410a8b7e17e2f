#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace galen::log_templates {

// Replaces a variable part.
inline constexpr absl::string_view kMask = "<*>";

// Bytes of a token that are read; the rest is ignored.
inline constexpr std::size_t kMostOfToken = 256;
// Size of the output: at most every second character becomes a mask.
inline constexpr std::size_t kMostMasked = (kMostOfToken + 1) * 2;

// Writes `token`, which has no space, to `out` with its variable parts masked, and returns the
// length: numbers, hexadecimal values (addresses, UUIDs, hashes), IP addresses with their ports,
// dates and times as one; digits within words ("rank<*>", "<*>ms"); absolute paths and the part
// after the scheme of a URL. Masks that are separated only by a joint like "." or ":" are merged.
// `out` has kMostMasked bytes. Reads each byte a bounded number of times. Pure.
std::size_t MaskToken(absl::string_view token, char* out);

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_MASK_H_
