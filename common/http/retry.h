#ifndef COMMON_HTTP_RETRY_H_
#define COMMON_HTTP_RETRY_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::http {

struct RetryPolicy {
  int most = 2;                                   // requests after the first one
  absl::Duration base = absl::Milliseconds(250);  // the first pause is at most this, each further
  absl::Duration longest = absl::Seconds(5);      // one twice the one before, up to this
};

// The pause before retry `number` (1 and up): anywhere from none to its limit, by `chance` in
// [0, 1), so that clients that failed together do not come back together ("full jitter": Brooker,
// "Exponential Backoff and Jitter", AWS Architecture Blog, 2015). The pause is added to the
// time that the endpoint asked for and never shortens it: the endpoint knows when it has room.
absl::Duration Pause(const RetryPolicy& policy, int number,
                     std::optional<absl::Duration> retry_after, double chance);

// The pause that a Retry-After header asks for (RFC 9110, 10.2.3): seconds, also with a fraction,
// or a date in the form of RFC 9110 5.6.7 ("Sun, 06 Nov 1994 08:49:37 GMT"). A date in the past
// gives zero. Nothing when it is neither.
std::optional<absl::Duration> ParseRetryAfter(absl::string_view value, absl::Time now);

}  // namespace galen::http

#endif  // COMMON_HTTP_RETRY_H_
