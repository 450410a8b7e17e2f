#include "services/advisor/learning/life_counts.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace galen::advisor {
namespace {

constexpr double kFirstAge = 0.25;

std::uint32_t Packed(const Signs& signs) {
  std::uint32_t packed = 0;
  for (std::size_t i = 0; i < kMostSigns; ++i) {
    packed |= std::uint32_t{std::min<std::uint8_t>(signs[i], 3)} << (2 * i);
  }
  return packed;
}

Signs Unpacked(std::uint32_t packed) {
  Signs signs{};
  for (std::size_t i = 0; i < kMostSigns; ++i) signs[i] = (packed >> (2 * i)) & 3;
  return signs;
}

}  // namespace

double AgeBegin(std::size_t age) {
  return age == 0 ? 0 : kFirstAge * std::exp2(0.5 * (static_cast<double>(age) - 1));
}

std::size_t AgeOf(double hours) {
  if (!(hours >= kFirstAge)) return 0;
  const double steps = 2 * std::log2(hours / kFirstAge);
  std::size_t age = std::min<std::size_t>(kAges - 1, static_cast<std::size_t>(steps) + 1);
  // Corrects rounding at the bounds.
  while (age > 0 && hours < AgeBegin(age)) --age;
  while (age + 1 < kAges && hours >= AgeBegin(age + 1)) ++age;
  return age;
}

LifeCounts::Counted* LifeCounts::Find(Key key) {
  if (!knows_workloads_) key.workload = kAnyWorkload;
  if (const auto it = cells_.find(key); it != cells_.end()) return &it->second;
  if (cells_.size() >= most_cells_) {
    if (!knows_workloads_) return nullptr;
    ForgetWorkloads();
    return Find(key);
  }
  return &cells_[key];
}

void LifeCounts::ForgetWorkloads() {
  knows_workloads_ = false;
  absl::flat_hash_map<Key, Counted> merged;
  for (const auto& [key, counted] : cells_) {
    Counted& to = merged[{kAnyWorkload, key.place, key.signs}];
    to.hours += counted.hours;
    to.failures += counted.failures;
    to.exposure += counted.exposure;
  }
  cells_ = std::move(merged);
}

void LifeCounts::Add(std::uint32_t workload, std::uint32_t machines, double begin, double end,
                     const Signs& signs, bool failed, double planned) {
  if (!(begin >= 0) || !(end >= begin) || !std::isfinite(end)) return;
  const std::uint32_t packed = Packed(signs);
  const std::size_t first = AgeOf(begin);
  std::size_t last = AgeOf(end);
  // A failure at the very end of an age belongs to its hours, not to the empty hours of the next.
  if (last > first && !(end > AgeBegin(last))) --last;
  for (std::size_t age = first; age <= last; ++age) {
    const double from = std::max(begin, AgeBegin(age));
    const double to = age + 1 < kAges ? std::min(end, AgeBegin(age + 1)) : end;
    const bool here = failed && age == last;
    if (to <= from && !here) continue;
    Counted* cell = Find({workload, (machines << 5) | static_cast<std::uint32_t>(age), packed});
    if (cell == nullptr) {
      hours_left_out_ += std::max(0.0, to - from);
      continue;
    }
    cell->hours += std::max(0.0, to - from);
    cell->exposure += std::max(0.0, to - from);
    if (here) {
      double until = age + 1 < kAges ? AgeBegin(age + 1) : end;
      if (planned > end) until = std::min(until, planned);
      cell->exposure += until - to;
      cell->failures += 1;
      ++failures_;
    }
  }
}

std::vector<LifeCounts::Cell> LifeCounts::Cells() const {
  std::vector<Cell> cells;
  cells.reserve(cells_.size());
  for (const auto& [key, counted] : cells_) {
    cells.push_back({key.workload, key.place >> 5, static_cast<std::size_t>(key.place & 31),
                     Unpacked(key.signs), counted.hours, counted.failures, counted.exposure});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.workload, a.machines, a.age, a.signs) <
           std::tie(b.workload, b.machines, b.age, b.signs);
  });
  return cells;
}

}  // namespace galen::advisor
