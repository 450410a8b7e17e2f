#ifndef COMMON_KUBE_RATE_H_
#define COMMON_KUBE_RATE_H_

#include <optional>

#include "absl/time/time.h"

namespace galen::kube {

// This many requests a second over time, and this many at once. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes a turn and returns the wait until it. Nothing, and no turn, if the wait is more than
  // `longest`.
  std::optional<absl::Duration> Take(absl::Time now, absl::Duration longest);

 private:
  const double per_second_;
  const double burst_;
  double tokens_;  // below 0: turns that are waited for
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_RATE_H_
