#include "services/advisor/learning/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace galen::advisor {
namespace {

// (std::lgamma writes a global, so it is not thread-safe.)
double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m <= 10'000; ++m) {
    for (const bool even : {true, false}) {
      const double numerator = even ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                    : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 + numerator * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + numerator / c;
      c = std::abs(c) < kTiny ? kTiny : c;
      result *= d * c;
    }
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

double RegularisedBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

double LogChoose(double n, double k) {
  return LogGamma(n + 1) - LogGamma(k + 1) - LogGamma(n - k + 1);
}

}  // namespace

double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability) {
  if (successes <= 0) return 1;
  if (successes > trials) return 0;
  const double tail = RegularisedBeta(static_cast<double>(successes),
                                      static_cast<double>(trials - successes + 1), probability);
  return std::clamp(tail, 0.0, 1.0);
}

double HypergeometricUpperTail(std::int64_t hits, std::int64_t draws, std::int64_t marked,
                               std::int64_t all) {
  if (draws < 0 || marked < 0 || draws > all || marked > all) return 1;
  const std::int64_t most = std::min(draws, marked);
  const std::int64_t least = std::max<std::int64_t>(0, draws + marked - all);
  if (hits <= least) return 1;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double whole = LogChoose(number(all), number(draws));
  double tail = 0;
  for (std::int64_t k = hits; k <= most; ++k) {
    const double term = std::exp(LogChoose(number(marked), number(k)) +
                                 LogChoose(number(all - marked), number(draws - k)) - whole);
    tail += term;
    if (term < 1e-17 * tail) break;
  }
  return std::min(tail, 1.0);
}

double HypergeometricUpperTail(std::int64_t hits, absl::Span<const Draw> strata) {
  constexpr std::int64_t kMostExact = 256;
  if (strata.size() == 1) {
    return HypergeometricUpperTail(hits, strata[0].draws, strata[0].marked, strata[0].all);
  }
  double mean = 0;
  double variance = 0;
  for (const Draw& draw : strata) {
    if (draw.draws < 0 || draw.marked < 0 || draw.draws > draw.all || draw.marked > draw.all) {
      return 1;
    }
    if (draw.all == 0) continue;
    const auto all = static_cast<double>(draw.all);
    const double share = static_cast<double>(draw.marked) / all;
    const double own = static_cast<double>(draw.draws) * share;
    mean += own;
    if (draw.all > 1) {
      variance += own * (1 - share) * (all - static_cast<double>(draw.draws)) / (all - 1);
    }
  }
  const auto number = static_cast<double>(hits);
  if (!(number > mean)) return 1;
  if (hits > kMostExact) {
    if (!(variance > 0)) return 0;
    return NormalUpperTail((number - 0.5 - mean) / std::sqrt(variance));
  }
  // The probability of each number of hits so far; the last place is for `hits` and more.
  const auto most = static_cast<std::size_t>(hits);
  std::vector<double> sum(most + 1, 0);
  sum[0] = 1;
  for (const Draw& draw : strata) {
    const double whole = LogChoose(static_cast<double>(draw.all), static_cast<double>(draw.draws));
    std::vector<double> own(most, 0);  // P(X = k)
    const std::int64_t least = std::max<std::int64_t>(0, draw.draws + draw.marked - draw.all);
    for (std::int64_t k = least; k < hits && k <= std::min(draw.draws, draw.marked); ++k) {
      own[static_cast<std::size_t>(k)] =
          std::exp(LogChoose(static_cast<double>(draw.marked), static_cast<double>(k)) +
                   LogChoose(static_cast<double>(draw.all - draw.marked),
                             static_cast<double>(draw.draws - k)) -
                   whole);
    }
    std::vector<double> more(most + 1, 0);  // P(X >= k)
    more[most] = HypergeometricUpperTail(hits, draw.draws, draw.marked, draw.all);
    for (std::size_t k = most; k-- > 0;) more[k] = more[k + 1] + own[k];
    std::vector<double> next(most + 1, 0);
    next[most] = sum[most];
    for (std::size_t before = 0; before < most; ++before) {
      if (sum[before] <= 0) continue;
      for (std::size_t k = 0; before + k < most; ++k) next[before + k] += sum[before] * own[k];
      next[most] += sum[before] * more[most - before];
    }
    sum = std::move(next);
  }
  return std::min(sum[most], 1.0);
}

double NormalUpperTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

std::vector<bool> BenjaminiHochberg(absl::Span<const double> p_values, double q) {
  std::vector<double> sorted;
  for (const double p : p_values) {
    if (p >= 0 && p <= 1) sorted.push_back(p);
  }
  std::sort(sorted.begin(), sorted.end());
  double limit = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double allowed = q * static_cast<double>(i + 1) / static_cast<double>(p_values.size());
    if (sorted[i] <= allowed) limit = sorted[i];
  }
  std::vector<bool> discoveries;
  discoveries.reserve(p_values.size());
  for (const double p : p_values) discoveries.push_back(p >= 0 && p <= limit);
  return discoveries;
}

}  // namespace galen::advisor
