#include "common/series/window_sums.h"

#include <algorithm>
#include <cstring>

#include "common/series/grid.h"

namespace galen::series {
namespace {

// Four at a time on every 64-bit processor, without asking which one it is.
constexpr std::size_t kLanes = 4;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Masks = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

struct Window {
  float sum = 0;
  int known = 0;
  bool moves = false;
};

inline Window SumLanes(const float* at, std::size_t size) {
  Floats sum = {};
  Masks known = {};
  Masks moves = {};
  const float first = at[0];
  const Floats firsts = {first, first, first, first};
  for (std::size_t i = 0; i < size; i += kLanes) {
    Floats values;
    std::memcpy(&values, at + i, sizeof(values));
    // Not so for NaN and infinities, whose difference from themselves is NaN. All bits set is -1.
    const Masks is_known = (values - values) == Floats{};  // NOLINT(misc-redundant-expression)
    Masks bits;
    std::memcpy(&bits, &values, sizeof(bits));
    bits &= is_known;
    Floats counted;
    std::memcpy(&counted, &bits, sizeof(counted));
    sum += counted;
    known += is_known;
    moves |= values != firsts;
  }
  return {(sum[0] + sum[1]) + (sum[2] + sum[3]), -(known[0] + known[1] + known[2] + known[3]),
          ((moves[0] | moves[1]) | (moves[2] | moves[3])) != 0};
}

Window SumAny(const float* at, std::size_t size) {
  Window window;
  for (std::size_t i = 0; i < size; ++i) {
    window.moves |= at[i] != at[0];
    if (!IsKnown(at[i])) continue;
    window.sum += at[i];
    ++window.known;
  }
  return window;
}

inline void Put(const Window& sums, std::size_t size, std::size_t at, const WindowSums& out) {
  const bool enough = static_cast<std::size_t>(sums.known) * 2 >= size;
  out.means[at] = enough ? sums.sum / static_cast<float>(sums.known) : kUnknown;
  // (NaN differs from itself, so a window with an unknown sample counts as moving.)
  out.frozen[at] = !sums.moves && sums.known > 1 ? 1 : 0;
}

}  // namespace

void SumWindows(absl::Span<const float> row, std::size_t window, const WindowSums& out) {
  const std::size_t whole = row.size() / window;
  if (window == 16) {
    for (std::size_t w = 0; w < whole; ++w) {
      Put(SumLanes(row.data() + w * 16, 16), 16, w * out.stride, out);
    }
  } else if (window % kLanes == 0) {
    for (std::size_t w = 0; w < whole; ++w) {
      Put(SumLanes(row.data() + w * window, window), window, w * out.stride, out);
    }
  } else {
    for (std::size_t w = 0; w < whole; ++w) {
      Put(SumAny(row.data() + w * window, window), window, w * out.stride, out);
    }
  }
  const std::size_t rest = row.size() - whole * window;
  if (rest > 0) Put(SumAny(row.data() + whole * window, rest), rest, whole * out.stride, out);
}

}  // namespace galen::series
