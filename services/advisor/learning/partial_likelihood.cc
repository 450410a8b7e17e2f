#include "services/advisor/learning/partial_likelihood.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "services/advisor/learning/statistics.h"

namespace galen::advisor {
namespace {

// Below this the signed root is so near zero that rounding is as large as its correction; such a
// sign is far from any discovery.
constexpr double kLeastRoot = 0.05;

// Inverts `a`, symmetric and positive definite, by Gauss and Jordan, with the logarithm of its
// determinant. False if it is neither.
bool Invert(EffectMatrix a, EffectMatrix& inverse, double& log_determinant) {
  const std::size_t n = a.size();
  inverse.assign(n, Effects{});
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(a[i][i] > 1e-12)) return false;
    log_determinant += std::log(a[i][i]);
    const double by = 1 / a[i][i];
    for (std::size_t j = 0; j < n; ++j) {
      a[i][j] *= by;
      inverse[i][j] *= by;
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double times = a[k][i];
      for (std::size_t j = 0; j < n; ++j) {
        a[k][j] -= times * a[i][j];
        inverse[k][j] -= times * inverse[i][j];
      }
    }
  }
  return true;
}

// Log partial likelihood at `effects`, up to a constant; its slope and the negative of its
// curvature.
double Likelihood(const Strata& strata, absl::Span<const std::size_t> which, const Effects& effects,
                  Effects& slope, EffectMatrix& information) {
  const std::vector<LifeCounts::Cell>& cells = strata.cells;
  const std::size_t n = which.size();
  slope = {};
  information.assign(n, Effects{});
  double likelihood = 0;
  EffectMatrix second;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    double failures = 0;
    end = strata.EndOf(begin);
    for (std::size_t k = begin; k < end; ++k) failures += cells[k].failures;
    if (failures <= 0 || end - begin < 2) continue;  // nothing to compare
    double weight = 0;
    Effects first{};
    second.assign(n, Effects{});
    for (std::size_t k = begin; k < end; ++k) {
      const LifeCounts::Cell& cell = cells[k];
      const double score = Score(effects, cell.signs, which);
      const double own = strata.hours[k] * std::exp(score);
      weight += own;
      likelihood += cell.failures * score;
      for (std::size_t i = 0; i < n; ++i) {
        const double x = cell.signs[which[i]];
        if (x == 0) continue;
        slope[i] += cell.failures * x;
        first[i] += own * x;
        for (std::size_t j = 0; j <= i; ++j) second[i][j] += own * x * cell.signs[which[j]];
      }
    }
    if (!(weight > 0)) continue;
    likelihood -= failures * std::log(weight);
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = first[i] / weight;
      slope[i] -= failures * mean;
      for (std::size_t j = 0; j <= i; ++j) {
        const double value = failures * (second[i][j] / weight - mean * first[j] / weight);
        information[i][j] += value;
        if (i != j) information[j][i] += value;
      }
    }
  }
  return likelihood;
}

}  // namespace

std::size_t Strata::EndOf(std::size_t begin) const {
  std::size_t end = begin;
  while (end < cells.size() && cells[end].machines == cells[begin].machines &&
         cells[end].age == cells[begin].age) {
    ++end;
  }
  return end;
}

Strata StrataOf(absl::Span<const LifeCounts::Cell> cells) {
  Strata strata;
  strata.cells.assign(cells.begin(), cells.end());
  std::stable_sort(strata.cells.begin(), strata.cells.end(),
                   [](const LifeCounts::Cell& a, const LifeCounts::Cell& b) {
                     return std::tie(a.machines, a.age) < std::tie(b.machines, b.age);
                   });
  strata.hours.reserve(strata.cells.size());
  for (const LifeCounts::Cell& cell : strata.cells) strata.hours.push_back(cell.hours);
  return strata;
}

double Score(const Effects& effects, const Signs& signs, absl::Span<const std::size_t> which) {
  double sum = 0;
  for (std::size_t i = 0; i < which.size(); ++i) sum += effects[i] * signs[which[i]];
  return sum;
}

std::optional<Estimate> Maximise(const Strata& strata, absl::Span<const std::size_t> which,
                                 const Effects& from) {
  Estimate found{from, {}, 0, 0};
  Effects slope{};
  EffectMatrix information;
  found.likelihood = Likelihood(strata, which, found.effects, slope, information);
  for (int round = 0; round < 50; ++round) {
    if (!Invert(information, found.covariance, found.information)) return std::nullopt;
    Effects step{};
    double largest = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      for (std::size_t j = 0; j < which.size(); ++j) step[i] += found.covariance[i][j] * slope[j];
      largest = std::max(largest, std::abs(step[i]));
    }
    if (largest < 1e-8) return found;
    // The step is halved until it is not worse.
    bool better = false;
    for (double size = std::min(1.0, 2 / largest); size > 1e-6 && !better; size /= 2) {
      Effects tried = found.effects;
      for (std::size_t i = 0; i < which.size(); ++i) tried[i] += size * step[i];
      Effects tried_slope{};
      EffectMatrix tried_information;
      const double value = Likelihood(strata, which, tried, tried_slope, tried_information);
      if (!(value >= found.likelihood - 1e-12 * std::abs(found.likelihood))) continue;
      found.effects = tried;
      slope = tried_slope;
      information = std::move(tried_information);
      found.likelihood = value;
      better = true;
    }
    if (!better) return largest < 1e-5 ? std::optional<Estimate>(found) : std::nullopt;
  }
  return std::nullopt;
}

double UpperTailOf(const Strata& strata, absl::Span<const std::size_t> which, std::size_t tested,
                   const Estimate& full) {
  std::vector<std::size_t> others;
  Effects from{};
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (i == tested) continue;
    from[others.size()] = full.effects[i];
    others.push_back(which[i]);
  }
  const std::optional<Estimate> without = Maximise(strata, others, from);
  if (!without.has_value()) return 1;
  const double effect = full.effects[tested];
  const double root =
      std::copysign(std::sqrt(std::max(0.0, 2 * (full.likelihood - without->likelihood))), effect);
  if (std::abs(root) < kLeastRoot) return NormalUpperTail(root);
  const double u = effect * std::exp((full.information - without->information) / 2);
  return NormalUpperTail(root + std::log(u / root) / root);
}

}  // namespace galen::advisor
