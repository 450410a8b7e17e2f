#ifndef COMMON_LLM_RETRY_H_
#define COMMON_LLM_RETRY_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::llm {

struct RetryPolicy {
  int most = 2;                                   // requests after the first one
  absl::Duration base = absl::Milliseconds(250);  // the first pause is at most this, each further
  absl::Duration longest = absl::Seconds(5);      // one twice the one before, up to this
};

// The pause before retry `number` (1 and up): anywhere from none to its limit, by `chance` in
// [0, 1), so that clients that failed together do not come back together ("full jitter": Brooker,
// "Exponential Backoff and Jitter", AWS Architecture Blog, 2015). What the endpoint asked for is
// added to, never cut: it knows when it has room again.
absl::Duration Pause(const RetryPolicy& policy, int number,
                     std::optional<absl::Duration> retry_after, double chance);

// What a Retry-After header asks for (RFC 9110, 10.2.3): seconds, also with a fraction, or a date
// in the form of RFC 9110 5.6.7 ("Sun, 06 Nov 1994 08:49:37 GMT"). A date in the past is no pause.
// Nothing when it is neither.
std::optional<absl::Duration> ParseRetryAfter(absl::string_view value, absl::Time now);

}  // namespace galen::llm

#endif  // COMMON_LLM_RETRY_H_
