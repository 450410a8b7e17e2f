#ifndef COMMON_BASE_STEADY_H_
#define COMMON_BASE_STEADY_H_

#include <chrono>

#include "absl/time/time.h"

namespace galen {

// A time for limits and durations: the time of day when the process began, plus the time elapsed
// since. It runs steadily even when the machine's clock is set, a common fault of machines under
// diagnosis. Not for time stamps that people or other machines read. (absl::Now() follows a clock
// change some seconds late, so that a jump is seen long after it happened.)
absl::Time SteadyNow();

// Converts a time of day, by the present clock, to SteadyNow()'s scale: for a deadline from
// outside. Keeps InfiniteFuture and InfinitePast.
absl::Time ToSteady(absl::Time time_of_day);

// The reverse: for a deadline that is passed on to a reader of the clock, which may have been set
// meanwhile. Also keeps InfiniteFuture and InfinitePast.
absl::Time ToTimeOfDay(absl::Time steady);

// The deadline to hand to gRPC for a moment that is `left` from now.
std::chrono::system_clock::time_point ClockIn(absl::Duration left);

}  // namespace galen

#endif  // COMMON_BASE_STEADY_H_
