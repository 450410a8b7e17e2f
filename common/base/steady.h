#ifndef COMMON_BASE_STEADY_H_
#define COMMON_BASE_STEADY_H_

#include <chrono>

#include "absl/time/time.h"

namespace galen {

// A time for limits and durations: what the time of day was as the process began, plus the time
// gone since. It goes on evenly while the machine's clock is set, which on a machine under
// diagnosis is a fault like another. Not for stamps that people or other machines read.
// (absl::Now() also follows a clock that is set some seconds late, so that a jump is seen long
// after it was.)
absl::Time SteadyNow();

// The same moment on SteadyNow()'s scale, given on the clock's as it is now: for a deadline that
// came from outside. Keeps InfiniteFuture and InfinitePast.
absl::Time ToSteady(absl::Time time_of_day);

// The other way: for a deadline that was kept while the clock may have been set, and goes on to who
// reads the clock. Keeps both likewise.
absl::Time ToTimeOfDay(absl::Time steady);

// What gRPC takes for a deadline that is `left` from now.
std::chrono::system_clock::time_point ClockIn(absl::Duration left);

}  // namespace galen

#endif  // COMMON_BASE_STEADY_H_
