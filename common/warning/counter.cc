#include "common/warning/counter.h"

#include <cmath>
#include <limits>

namespace galen::warning {

float Counter::Add(double value, std::int64_t minute, std::int64_t longest) {
  constexpr float kNoGrowth = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(value) || value < 0 || minute < 0) return kNoGrowth;
  const double last = last_;
  const std::int64_t before = at_;
  if (before >= 0 && minute <= before) return kNoGrowth;
  last_ = value;
  at_ = minute;
  if (before < 0 || minute - before >= longest) return kNoGrowth;
  const double growth = value >= last ? value - last : value;
  return static_cast<float>(growth / static_cast<double>(minute - before));
}

}  // namespace galen::warning
