#include "bench/eval/metrics/wilson.h"

#include <algorithm>
#include <cmath>

namespace galen::eval {

Share WilsonShare(std::int64_t right, std::int64_t all) {
  constexpr double kZ = 1.959963984540054;  // of 95 %, two sides
  if (all <= 0) return {};
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(std::clamp<std::int64_t>(right, 0, all)) / n;
  const double middle = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return {p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace galen::eval
