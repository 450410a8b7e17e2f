#ifndef COMMON_SERIES_WINDOW_SUMS_H_
#define COMMON_SERIES_WINDOW_SUMS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace galen::series {

// The result of the first reading of a row of samples for each of its windows.
struct WindowSums {
  float* means = nullptr;          // of the known samples; unknown where fewer than half are
  std::uint8_t* frozen = nullptr;  // 1: all of them known, and equal to the last bit
  std::size_t stride = 0;          // window w of the row is at [w * stride]
};

// The mean of each `window` samples, and whether they moved at all. The last window may be shorter.
// One reading, as fast as memory permits if `window` is a multiple of 4.
void SumWindows(absl::Span<const float> row, std::size_t window, const WindowSums& out);

}  // namespace galen::series

#endif  // COMMON_SERIES_WINDOW_SUMS_H_
