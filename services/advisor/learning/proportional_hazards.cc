#include "services/advisor/learning/proportional_hazards.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/advisor/learning/partial_likelihood.h"
#include "services/advisor/learning/separation.h"

namespace galen::advisor {
namespace {

// Sets the hours to each workload's contribution relative to the others of its strata, given the
// effects.
void WeighWorkloads(absl::Span<const std::size_t> which, const Effects& effects, double shrink,
                    Strata& strata) {
  const std::vector<LifeCounts::Cell>& cells = strata.cells;
  absl::flat_hash_map<std::uint32_t, std::pair<double, double>> sums;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    end = strata.EndOf(begin);
    double failures = 0;
    double weight = 0;
    for (std::size_t k = begin; k < end; ++k) {
      failures += cells[k].failures;
      weight += strata.hours[k] * std::exp(Score(effects, cells[k].signs, which));
    }
    if (!(weight > 0)) continue;
    for (std::size_t k = begin; k < end; ++k) {
      auto& [seen, expected] = sums[cells[k].workload];
      seen += cells[k].failures;
      expected +=
          failures / weight * cells[k].hours * std::exp(Score(effects, cells[k].signs, which));
    }
  }
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const auto& [seen, expected] = sums[cells[k].workload];
    strata.hours[k] = cells[k].hours * (seen + shrink) / (expected + shrink);
  }
}

// Effects and contributions of workloads (as the hours of `strata`), each from the other in turn.
// Nothing if there is no estimate.
std::optional<Estimate> FitEffects(absl::Span<const std::size_t> which, double shrink,
                                   Strata& strata) {
  for (std::size_t k = 0; k < strata.cells.size(); ++k) strata.hours[k] = strata.cells[k].hours;
  Estimate estimate;
  for (int round = 0; round < 4 && !which.empty(); ++round) {
    std::optional<Estimate> better = Maximise(strata, which, estimate.effects);
    if (!better.has_value()) return std::nullopt;
    estimate = *std::move(better);
    if (round < 3) WeighWorkloads(which, estimate.effects, shrink, strata);
  }
  return estimate;
}

// The signs whose effects can be estimated together, and those that stood highest before every
// informative failure.
struct Estimable {
  std::vector<std::size_t> together;
  std::vector<std::size_t> always_top;
};
Estimable EstimableOf(const Strata& strata, absl::Span<const std::size_t> signs) {
  Estimable estimable;
  for (const std::size_t sign : signs) {
    const Separation how = SeparationOf(strata, sign);
    if (how == Separation::kBetween) estimable.together.push_back(sign);
    if (how == Separation::kAlwaysTop) estimable.always_top.push_back(sign);
  }
  return estimable;
}

// Among signs that cannot be distinguished, the one with the fewest failures is dropped, until the
// others can be estimated.
Estimate FitWhatCan(const HazardModel& model, double shrink, std::vector<std::size_t>& which,
                    Strata& strata) {
  for (;;) {
    if (std::optional<Estimate> fitted = FitEffects(which, shrink, strata)) {
      return *std::move(fitted);
    }
    which.erase(std::min_element(which.begin(), which.end(), [&](std::size_t a, std::size_t b) {
      return model.signs[a].failures < model.signs[b].failures;
    }));
  }
}

// The probability of each effect under the null hypothesis. In small groups, the hours that a
// failure cuts short are part of the comparison: failures would seem more spread than by chance. So
// the test uses the hours as they would have been.
void TestSigns(absl::Span<const LifeCounts::Cell> cells, absl::Span<const std::size_t> signs,
               double shrink, HazardModel& model) {
  Strata strata = StrataOf(cells);
  for (std::size_t k = 0; k < strata.cells.size(); ++k) {
    LifeCounts::Cell& cell = strata.cells[k];
    strata.hours[k] = cell.hours = std::max(cell.hours, cell.exposure);
  }
  Estimable estimable = EstimableOf(strata, signs);
  std::vector<std::size_t>& which = estimable.together;
  const Estimate fitted = FitWhatCan(model, shrink, which, strata);
  for (std::size_t i = 0; i < which.size(); ++i) {
    model.signs[which[i]].p = UpperTailOf(strata, which, i, fitted);
  }
  for (const std::size_t sign : estimable.always_top) {
    model.signs[sign].p = TopTailOf(strata, which, fitted.effects, sign);
  }
}

// Estimates the effects, given the hours at risk.
void EstimateSigns(absl::Span<const LifeCounts::Cell> cells, absl::Span<const std::size_t> signs,
                   double shrink, HazardModel& model) {
  Strata strata = StrataOf(cells);
  Estimable estimable = EstimableOf(strata, signs);
  std::vector<std::size_t>& which = estimable.together;
  const Estimate fitted = FitWhatCan(model, shrink, which, strata);
  for (std::size_t i = 0; i < which.size(); ++i) {
    model.signs[which[i]].effect = fitted.effects[i];
    model.signs[which[i]].error = std::sqrt(fitted.covariance[i][i]);
    for (std::size_t j = 0; j < which.size(); ++j) {
      model.covariance[which[i]][which[j]] = fitted.covariance[i][j];
    }
  }
  // Each sign given those before it, the least likely by chance first: if two occurred together,
  // one has the effect.
  std::stable_sort(
      estimable.always_top.begin(), estimable.always_top.end(),
      [&](std::size_t a, std::size_t b) { return model.signs[a].p < model.signs[b].p; });
  Effects effects = fitted.effects;
  for (const std::size_t sign : estimable.always_top) {
    const TopEffect top = TopEffectOf(strata, which, effects, sign);
    model.signs[sign].effect = top.effect;
    model.signs[sign].error = top.error;
    model.covariance[sign][sign] = top.error * top.error;
    effects[which.size()] = top.effect;
    which.push_back(sign);
  }
}

// Baseline and factors, each from the others in turn, until they stand still (iterative
// proportional fitting); a factor is drawn towards 1 by `shrink` failures, an age by one to all of
// them: an age without failures so far does not make failures impossible.
void FitFactors(absl::Span<const LifeCounts::Cell> cells, double shrink, HazardModel& model) {
  using Factors = absl::flat_hash_map<std::uint32_t, double>;
  const auto factor = [](const Factors& factors, std::uint32_t of) {
    const auto it = factors.find(of);
    return it == factors.end() ? 1.0 : it->second;
  };
  std::vector<double> weights;
  weights.reserve(cells.size());
  for (const LifeCounts::Cell& cell : cells) {
    double score = 0;
    for (std::size_t i = 0; i < kMostSigns; ++i) score += model.signs[i].effect * cell.signs[i];
    weights.push_back(cell.hours * std::exp(score));
  }
  for (int round = 0; round < 10; ++round) {
    std::array<double, kAges> failures{};
    std::array<double, kAges> expected{};
    for (std::size_t k = 0; k < cells.size(); ++k) {
      failures[cells[k].age] += cells[k].failures;
      expected[cells[k].age] += weights[k] * factor(model.workloads, cells[k].workload) *
                                factor(model.machines, cells[k].machines);
    }
    const double all = std::accumulate(failures.begin(), failures.end(), 0.0) /
                       std::accumulate(expected.begin(), expected.end(), 0.0);
    for (std::size_t age = 0; age < kAges; ++age) {
      // An age without runs has the hazard of the one before.
      model.base[age] = expected[age] > 0 ? (failures[age] + 1) / (expected[age] + 1 / all)
                        : age > 0         ? model.base[age - 1]
                                          : all;
    }
    for (const bool workloads : {true, false}) {
      absl::flat_hash_map<std::uint32_t, std::pair<double, double>> sums;
      for (std::size_t k = 0; k < cells.size(); ++k) {
        const LifeCounts::Cell& cell = cells[k];
        if (workloads && cell.workload == LifeCounts::kAnyWorkload) continue;
        auto& [seen, of] = sums[workloads ? cell.workload : cell.machines];
        seen += cell.failures;
        of += weights[k] * model.base[cell.age] *
              (workloads ? factor(model.machines, cell.machines)
                         : factor(model.workloads, cell.workload));
      }
      Factors& fitted = workloads ? model.workloads : model.machines;
      for (const auto& [which, counted] : sums) {
        fitted[which] = (counted.first + shrink) / (counted.second + shrink);
      }
    }
  }
}

}  // namespace

double HazardModel::Rate(std::size_t age, const Signs& signs_now, std::uint32_t workload,
                         std::uint32_t machines_now) const {
  double score = 0;
  for (std::size_t i = 0; i < kMostSigns; ++i) score += signs[i].effect * signs_now[i];
  double rate = base[std::min(age, kAges - 1)] * std::exp(score);
  if (const auto it = workloads.find(workload); it != workloads.end()) rate *= it->second;
  if (const auto it = machines.find(machines_now); it != machines.end()) rate *= it->second;
  return rate;
}

double HazardModel::Probability(double at, double horizon, const Signs& signs_now,
                                std::uint32_t workload, std::uint32_t machines_now) const {
  if (!(at >= 0) || !(horizon > 0)) return 0;
  double sum = 0;
  const double until = at + horizon;
  for (std::size_t age = AgeOf(at); age < kAges; ++age) {
    const double from = std::max(at, AgeBegin(age));
    const double to = age + 1 < kAges ? std::min(until, AgeBegin(age + 1)) : until;
    if (to > from) sum += Rate(age, signs_now, workload, machines_now) * (to - from);
    if (to >= until) break;
  }
  return -std::expm1(-sum);
}

HazardModel::Ratio HazardModel::RatioOf(const Signs& signs_now) const {
  double score = 0;
  double variance = 0;
  for (std::size_t i = 0; i < kMostSigns; ++i) {
    score += signs[i].effect * signs_now[i];
    for (std::size_t j = 0; j < kMostSigns && i < covariance.size(); ++j) {
      variance += covariance[i][j] * signs_now[i] * signs_now[j];
    }
  }
  const double half = 1.959963984540054 * std::sqrt(std::max(0.0, variance));
  return {std::exp(score), std::exp(score - half), std::exp(score + half)};
}

absl::StatusOr<HazardModel> FitHazard(absl::Span<const LifeCounts::Cell> given,
                                      const FitOptions& options) {
  HazardModel model;
  model.covariance.assign(kMostSigns, Effects{});
  for (const LifeCounts::Cell& cell : given) {
    model.hours += cell.hours;
    model.failures += cell.failures;
    for (std::size_t i = 0; i < kMostSigns; ++i) {
      if (cell.signs[i] == 0) continue;
      model.signs[i].hours += cell.hours;
      model.signs[i].failures += cell.failures;
    }
  }
  if (model.failures < options.least_failures) {
    return absl::FailedPreconditionError(
        absl::StrCat("build-ups: ", model.failures, " failures are recorded; ",
                     options.least_failures, " are needed before anything is said of them"));
  }
  if (!(model.hours > 0)) {
    return absl::FailedPreconditionError("build-ups: no hours at risk are recorded");
  }
  // A sign that was never seen, or always, or in no failure has no estimate.
  std::vector<std::size_t> signs;
  for (std::size_t i = 0; i < kMostSigns; ++i) {
    const HazardModel::Sign& sign = model.signs[i];
    const bool kept = options.keep.empty() || (i < options.keep.size() && options.keep[i]);
    if (kept && sign.hours > 0 && sign.hours < model.hours && sign.failures > 0) signs.push_back(i);
  }
  // (First, so that its memory is free again.)
  TestSigns(given, signs, options.shrink, model);
  EstimateSigns(given, signs, options.shrink, model);
  FitFactors(given, options.shrink, model);
  return model;
}

}  // namespace galen::advisor
