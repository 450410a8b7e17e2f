#include "common/advisor/proportional_hazards.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/advisor/partial_likelihood.h"

namespace galen::advisor {
namespace {

// Sets the hours to what each workload adds beside the others of its strata, given the effects.
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

struct Fitted {
  Strata strata;
  Estimate estimate;
};
// Effects and what workloads add, each from the other in turn. Nothing: there is no estimate.
std::optional<Fitted> FitEffects(Strata strata, absl::Span<const std::size_t> which,
                                 double shrink) {
  Fitted fitted{std::move(strata), {}};
  for (int round = 0; round < 4 && !which.empty(); ++round) {
    std::optional<Estimate> better = Maximise(fitted.strata, which, fitted.estimate.effects);
    if (!better.has_value()) return std::nullopt;
    fitted.estimate = *std::move(better);
    if (round < 3) WeighWorkloads(which, fitted.estimate.effects, shrink, fitted.strata);
  }
  return fitted;
}

// How likely each effect is where there is none. Among few, the hours that a failure cuts short are
// part of what it is compared with: failures would be spread wider than by chance. So the test has
// the hours as they would have been.
std::vector<double> TailsOf(absl::Span<const LifeCounts::Cell> cells,
                            absl::Span<const std::size_t> which, double shrink) {
  Strata strata = StrataOf(cells);
  for (std::size_t k = 0; k < strata.cells.size(); ++k) {
    LifeCounts::Cell& cell = strata.cells[k];
    strata.hours[k] = cell.hours = std::max(cell.hours, cell.exposure);
  }
  std::vector<double> tails(which.size(), 1);
  const std::optional<Fitted> fitted = FitEffects(std::move(strata), which, shrink);
  for (std::size_t i = 0; i < which.size() && fitted.has_value(); ++i) {
    tails[i] = UpperTailOf(fitted->strata, which, i, fitted->estimate);
  }
  return tails;
}

// Baseline and factors, each from the others in turn, until they stand still (iterative
// proportional fitting); a factor is drawn towards 1 by `shrink` failures.
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
    for (std::size_t age = 0; age < kAges; ++age) {
      // An age that nobody came to is as bad as the one before.
      model.base[age] = expected[age] > 0 ? failures[age] / expected[age]
                        : age > 0         ? model.base[age - 1]
                                          : 0;
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
  // A sign that was never seen, or always, or in no failure has no estimate.
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < kMostSigns; ++i) {
    const HazardModel::Sign& sign = model.signs[i];
    const bool kept = options.keep.empty() || (i < options.keep.size() && options.keep[i]);
    if (kept && sign.hours > 0 && sign.hours < model.hours && sign.failures > 0 &&
        sign.failures < model.failures) {
      which.push_back(i);
    }
  }
  // (First, so that what it takes is free again.)
  const std::vector<double> tails = TailsOf(given, which, options.shrink);
  const std::optional<Fitted> fitted = FitEffects(StrataOf(given), which, options.shrink);
  if (!fitted.has_value()) {
    return absl::FailedPreconditionError(
        "build-ups: the effects of the signs cannot be told apart; more runs are needed");
  }
  const Estimate& estimate = fitted->estimate;
  for (std::size_t i = 0; i < which.size(); ++i) {
    HazardModel::Sign& sign = model.signs[which[i]];
    sign.effect = estimate.effects[i];
    sign.error = std::sqrt(estimate.covariance[i][i]);
    sign.p = tails[i];
    for (std::size_t j = 0; j < which.size(); ++j) {
      model.covariance[which[i]][which[j]] = estimate.covariance[i][j];
    }
  }
  FitFactors(fitted->strata.cells, options.shrink, model);
  return model;
}

}  // namespace galen::advisor
