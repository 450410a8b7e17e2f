#include "common/perfmodel/steady_mean.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace galen::perfmodel {
namespace {

constexpr std::size_t kBatches = 10;

// The first sample after which the standard error of the mean is least, sought in the first three
// quarters.
std::size_t WarmUpOf(absl::Span<const double> samples) {
  const std::size_t n = samples.size();
  double sum = 0;
  double squares = 0;
  const double shift = samples.back();
  double least = std::numeric_limits<double>::infinity();
  std::size_t from = 0;
  for (std::size_t i = n; i-- > 0;) {
    const double value = samples[i] - shift;
    sum += value;
    squares += value * value;
    const auto count = static_cast<double>(n - i);
    if (i > n * 3 / 4) continue;
    const double spread = std::max(0.0, squares - sum * sum / count);
    const double error = spread / (count * count);
    if (error <= least) {
      least = error;
      from = i;
    }
  }
  return from;
}

// The regularized incomplete beta function by its continued fraction (Lentz; Press et al.,
// "Numerical Recipes", section 6.4), here with b = 1/2.
double IncompleteBeta(double a, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kB = 0.5;
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + kB) - std::lgamma(a) - std::lgamma(kB) +
                                a * std::log(x) + kB * std::log1p(-x));
  const auto fraction = [](double p, double q, double at) {
    double c = 1;
    double d = 1 - (p + q) * at / (p + 1);
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    double result = d;
    for (int m = 1; m <= 300; ++m) {
      const double even = m * (q - m) * at / ((p + 2 * m - 1) * (p + 2 * m));
      d = 1 + even * d;
      c = 1 + even / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      result *= d * c;
      const double odd = -(p + m) * (p + q + m) * at / ((p + 2 * m) * (p + 2 * m + 1));
      d = 1 + odd * d;
      c = 1 + odd / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      const double step = d * c;
      result *= step;
      if (std::abs(step - 1) < 1e-14) break;
    }
    return result;
  };
  if (x < (a + 1) / (a + kB + 2)) return front * fraction(a, kB, x) / a;
  return 1 - front * fraction(kB, a, 1 - x) / kB;
}

}  // namespace

double StudentQuantile(double p, double freedom) {
  const double tail = 2 * (1 - p);  // of both sides
  double low = 0;
  double high = 1;
  const auto both = [freedom](double t) {
    return IncompleteBeta(freedom / 2, freedom / (freedom + t * t));
  };
  while (both(high) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (both(middle) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

SteadyMean JudgeSamples(absl::Span<const double> samples, const StopRule& rule) {
  SteadyMean judged;
  const std::size_t first = std::max<std::size_t>(rule.first_look, 2 * kBatches);
  if (samples.size() < first || !std::all_of(samples.begin(), samples.end(),
                                             [](double value) { return std::isfinite(value); })) {
    return judged;
  }
  std::size_t count = first;
  double look = 1;
  for (; count <= samples.size() / 2; count *= 2) look += 1;
  const absl::Span<const double> seen = samples.first(count);
  judged.warm_up = WarmUpOf(seen);
  judged.warm = judged.warm_up <= count / 2;
  // Whole batches of the rest: the last samples, because the start is not trusted.
  const std::size_t batch = (count - judged.warm_up) / kBatches;
  judged.used = batch * kBatches;
  const absl::Span<const double> used = seen.last(judged.used);
  std::vector<double> means(kBatches, 0.0);
  for (std::size_t i = 0; i < used.size(); ++i) {
    means[i / batch] += used[i] / static_cast<double>(batch);
  }
  constexpr auto kN = static_cast<double>(kBatches);
  for (const double mean : means) judged.mean += mean / kN;
  double variance = 0;
  for (const double mean : means) {
    variance += (mean - judged.mean) * (mean - judged.mean) / (kN - 1);
  }
  // Look number k may err with 1 / (k (k + 1)) of the total error: these shares add up to one.
  const double may_err = std::clamp(1 - rule.confidence, 1e-9, 0.5) / (look * (look + 1));
  const double half = StudentQuantile(1 - may_err / 2, kN - 1) * std::sqrt(variance / kN);
  judged.low = judged.mean - half;
  judged.high = judged.mean + half;
  judged.enough = judged.warm && half <= rule.half_width * std::abs(judged.mean);
  return judged;
}

}  // namespace galen::perfmodel
