#include "common/log_analysis/triage/series.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace galen::triage {

void ExactSum::Add(double value) {
  const double sum = sum_ + value;
  lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
  sum_ = sum;
}

void Series::Add(std::int64_t step, double value, bool warm) {
  if (!std::isfinite(value)) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  last_[static_cast<std::size_t>(count_) % kLast] = value;
  ++count_;
  sum_.Add(value);
  if (warm) {
    ++warm_count_;
    warm_sum_.Add(value);
    if (early_count_ < kLast) early_[early_count_++] = value;
  }
  if (points_.empty() || points_.back().count == stride_) {
    if (points_.size() == kPoints) Halve();
    if (points_.empty() || points_.back().count == stride_) points_.push_back({step, 0, 0});
  }
  points_.back().mean += value;
  ++points_.back().count;
}

void Series::Halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2, ++kept) {
    Point point = points_[i];
    if (i + 1 < points_.size()) {
      point.mean += points_[i + 1].mean;
      point.count += points_[i + 1].count;
    }
    points_[kept] = point;
  }
  points_.resize(kept);
  stride_ *= 2;
}

std::vector<Series::Point> Series::Points() const {
  std::vector<Point> points = points_;
  for (Point& point : points) point.mean /= static_cast<double>(point.count);
  return points;
}

std::optional<double> Series::SteadyMean() const {
  if (warm_count_ > 0) return warm_sum_.Get() / static_cast<double>(warm_count_);
  if (count_ > 0) return sum_.Get() / static_cast<double>(count_);
  return std::nullopt;
}

std::optional<double> Series::Change() const {
  // The two must not overlap.
  if (early_count_ < kLast || warm_count_ < static_cast<std::int64_t>(2 * kLast)) {
    return std::nullopt;
  }
  const double early = std::accumulate(early_.begin(), early_.end(), 0.0) / kLast;
  const double last = std::accumulate(last_.begin(), last_.end(), 0.0) / kLast;
  if (early <= 0) return std::nullopt;
  return last / early - 1;
}

}  // namespace galen::triage
