#include "common/http/retry.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace galen::http {

absl::Duration Pause(const RetryPolicy& policy, int number,
                     std::optional<absl::Duration> retry_after, double chance) {
  absl::Duration limit = policy.base;
  for (int i = 1; i < number && limit < policy.longest; ++i) limit *= 2;
  const absl::Duration jitter = std::min(limit, policy.longest) * std::clamp(chance, 0.0, 1.0);
  return retry_after.has_value() ? *retry_after + jitter : jitter;
}

std::optional<absl::Duration> ParseRetryAfter(absl::string_view value, absl::Time now) {
  value = absl::StripAsciiWhitespace(value);
  if (value.empty() || value.size() > 64) return std::nullopt;
  if (absl::ascii_isdigit(static_cast<unsigned char>(value.front()))) {
    double seconds = 0;
    if (!absl::SimpleAtod(value, &seconds) || !std::isfinite(seconds)) return std::nullopt;
    return absl::Seconds(seconds);
  }
  absl::Time when;
  for (const char* format :
       {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    if (absl::ParseTime(format, value, absl::UTCTimeZone(), &when, nullptr)) {
      return std::max(when - now, absl::ZeroDuration());
    }
  }
  return std::nullopt;
}

}  // namespace galen::http
