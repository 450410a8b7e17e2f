#ifndef SERVICES_ORCHESTRATOR_PRIORITY_BUDGET_H_
#define SERVICES_ORCHESTRATOR_PRIORITY_BUDGET_H_

#include <algorithm>

#include "absl/time/time.h"

namespace galen::orchestrator {

// For how long some may be held up for the sake of others: a quarter of a second at a time, and a
// fifth of the time over all, so that who has priority can starve nobody. Pure, not thread-safe;
// times are of one scale that goes on evenly.
class PriorityBudget {
 public:
  // Begins to hold, unless it does or too little is left. How long it will at most; zero when it
  // does not begin now.
  absl::Duration Begin(absl::Time now) {
    Settle(now);
    if (holding_ || left_ < kLeast) return absl::ZeroDuration();
    holding_ = true;
    return left_;
  }
  // Nobody is to be held any more.
  void End(absl::Time now) {
    Settle(now);
    holding_ = false;
  }
  bool Holds(absl::Time now) {
    Settle(now);
    return holding_;
  }

 private:
  static constexpr absl::Duration kMost = absl::Milliseconds(250);
  static constexpr absl::Duration kLeast = absl::Milliseconds(50);
  static constexpr int kRest = 4;  // time to earn a hold, as a multiple of its length

  void Settle(absl::Time now) {
    const absl::Duration gone = std::max(now - since_, absl::ZeroDuration());
    since_ = std::max(now, since_);
    if (!holding_) {
      left_ = gone > kRest * kMost ? kMost : std::min(kMost, left_ + gone / kRest);
      return;
    }
    left_ -= gone;
    if (left_ > absl::ZeroDuration()) return;
    // It ended by itself, which nobody looked at.
    left_ = std::min(kMost, -left_ / kRest);
    holding_ = false;
  }

  absl::Duration left_ = kMost;
  absl::Time since_ = absl::InfinitePast();
  bool holding_ = false;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_PRIORITY_BUDGET_H_
