#ifndef COMMON_PROFILE_INTERVALS_H_
#define COMMON_PROFILE_INTERVALS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace galen::profile {

// A stretch of time in nanoseconds, without its end.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t Length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

// a + b, or the largest number there is: a hostile trace's times add up to more.
inline std::int64_t Sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// Sorted, none empty, none touches the next one.
using Intervals = std::vector<Interval>;

// Any intervals, those that overlap or touch made one; empty ones go.
Intervals Union(std::vector<Interval> any);
std::int64_t Length(absl::Span<const Interval> intervals);
// These take and give what Union() gives, in linear time.
Intervals Intersect(absl::Span<const Interval> a, absl::Span<const Interval> b);
Intervals Subtract(absl::Span<const Interval> a, absl::Span<const Interval> b);
// The parts of `a` within `window`; linear in the result, plus a search.
Intervals Clip(absl::Span<const Interval> a, Interval window);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_INTERVALS_H_
