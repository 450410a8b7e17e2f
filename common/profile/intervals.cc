#include "common/profile/intervals.h"

#include <algorithm>
#include <cstddef>

namespace galen::profile {

Intervals Union(std::vector<Interval> any) {
  std::sort(any.begin(), any.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t size = 0;
  for (const Interval& one : any) {
    if (one.end <= one.begin) continue;
    if (size > 0 && one.begin <= any[size - 1].end) {
      any[size - 1].end = std::max(any[size - 1].end, one.end);
    } else {
      any[size++] = one;
    }
  }
  any.resize(size);
  return any;
}

std::int64_t Length(absl::Span<const Interval> intervals) {
  std::int64_t length = 0;
  for (const Interval& one : intervals) length += one.Length();
  return length;
}

Intervals Intersect(absl::Span<const Interval> a, absl::Span<const Interval> b) {
  Intervals both;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Interval one = {std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (one.begin < one.end) both.push_back(one);
    if (a[i].end < b[k].end) {
      ++i;
    } else {
      ++k;
    }
  }
  return both;
}

Intervals Subtract(absl::Span<const Interval> a, absl::Span<const Interval> b) {
  Intervals left;
  std::size_t k = 0;
  for (Interval rest : a) {
    while (k < b.size() && b[k].end <= rest.begin) ++k;
    for (std::size_t next = k; next < b.size() && b[next].begin < rest.end; ++next) {
      if (b[next].begin > rest.begin) left.push_back({rest.begin, b[next].begin});
      rest.begin = b[next].end;
      if (rest.begin < rest.end) k = next + 1;
    }
    if (rest.begin < rest.end) left.push_back(rest);
  }
  return left;
}

Intervals Clip(absl::Span<const Interval> a, Interval window) {
  Intervals clipped;
  auto it = std::lower_bound(a.begin(), a.end(), window.begin,
                             [](const Interval& one, std::int64_t at) { return one.end <= at; });
  for (; it != a.end() && it->begin < window.end; ++it) {
    clipped.push_back({std::max(it->begin, window.begin), std::min(it->end, window.end)});
  }
  return clipped;
}

}  // namespace galen::profile
