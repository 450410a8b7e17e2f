#include "common/kube/rate.h"

#include <algorithm>

namespace galen::kube {

std::optional<absl::Duration> TokenBucket::Take(absl::Time now, absl::Duration longest) {
  if (at_ != absl::InfinitePast() && now > at_) {
    tokens_ = std::min(burst_, tokens_ + absl::ToDoubleSeconds(now - at_) * per_second_);
  }
  at_ = std::max(at_, now);
  const double left = tokens_ - 1;
  const absl::Duration wait = left >= 0 ? absl::ZeroDuration() : absl::Seconds(-left / per_second_);
  if (wait > longest) return std::nullopt;
  tokens_ = left;
  return wait;
}

}  // namespace galen::kube
