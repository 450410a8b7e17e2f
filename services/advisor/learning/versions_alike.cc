#include "services/advisor/learning/versions_alike.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace galen::advisor {
namespace {

constexpr std::size_t kMostCompared = 256;

// The difference of two versions beyond noise.
double Distance(const Behaviour& a, const Behaviour& b) {
  double largest = 0;
  for (std::size_t i = 0; i < kBehaviours; ++i) {
    const double noise = 2 * std::hypot(a.error(i), b.error(i));
    largest = std::max(largest, std::abs(a.mean(i) - b.mean(i)) - noise);
  }
  return largest;
}

// A version with fewer runs would be similar to all.
bool IsKnown(const Behaviour& version, std::int64_t least_runs) {
  constexpr double kMostNoise = 0.5;
  if (version.runs() < least_runs) return false;
  for (std::size_t i = 0; i < kBehaviours; ++i) {
    if (!(2 * version.error(i) <= kMostNoise)) return false;
  }
  return true;
}

}  // namespace

void Behaviour::Add(const std::array<double, kBehaviours>& seen) {
  for (const double value : seen) {
    if (!(std::abs(value) <= kMostBehaviour)) return;
  }
  ++runs_;
  for (std::size_t i = 0; i < kBehaviours; ++i) {
    const double before = seen[i] - mean_[i];
    mean_[i] += before / static_cast<double>(runs_);
    squares_[i] += before * (seen[i] - mean_[i]);
  }
}

double Behaviour::error(std::size_t i) const {
  if (runs_ < 2) return 0;
  return std::sqrt(squares_[i] / static_cast<double>(runs_ - 1) / static_cast<double>(runs_));
}

std::vector<std::uint32_t> GroupAlike(absl::Span<const Behaviour> versions, double tolerance,
                                      std::int64_t least_runs) {
  const std::size_t n = versions.size();
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < n && known.size() < kMostCompared; ++i) {
    if (IsKnown(versions[i], least_runs)) known.push_back(i);
  }
  const std::size_t m = known.size();
  std::vector<std::vector<double>> apart(m, std::vector<double>(m, 0));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      apart[i][j] = apart[j][i] = Distance(versions[known[i]], versions[known[j]]);
    }
  }
  std::vector<std::size_t> leader(n);
  for (std::size_t i = 0; i < n; ++i) leader[i] = i;
  std::vector<bool> gone(m, false);
  for (;;) {
    double nearest = tolerance;
    std::size_t a = m;
    std::size_t b = m;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = i + 1; j < m && !gone[i]; ++j) {
        if (gone[j] || apart[i][j] > nearest || (a < m && apart[i][j] >= nearest)) continue;
        nearest = apart[i][j];
        a = i;
        b = j;
      }
    }
    if (a == m) break;
    gone[b] = true;
    for (std::size_t i = 0; i < m; ++i) {
      apart[a][i] = apart[i][a] = std::max(apart[a][i], apart[b][i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (leader[i] == known[b]) leader[i] = known[a];
    }
  }
  std::vector<std::uint32_t> groups(n, 0);
  std::vector<std::uint32_t> number(n, std::numeric_limits<std::uint32_t>::max());
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t& its = number[leader[i]];
    if (its == std::numeric_limits<std::uint32_t>::max()) its = next++;
    groups[i] = its;
  }
  return groups;
}

}  // namespace galen::advisor
