#include "common/advisor/survival.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/advisor/statistics.h"

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

struct AtRisk {
  double hours = 0;  // or days, or steps
  double at_risk = 0;
  double failed = 0;
};

std::vector<CurvePoint> CurveOf(absl::Span<const AtRisk> times) {
  std::vector<CurvePoint> curve;
  double surviving = 1;
  double greenwood = 0;
  for (const AtRisk& time : times) {
    if (!(time.at_risk > 0)) break;
    const double failed = std::min(time.failed, time.at_risk);
    surviving *= 1 - failed / time.at_risk;
    CurvePoint point{time.hours, surviving, 0, 1};
    if (surviving > 0 && failed > 0) {
      greenwood += failed / (time.at_risk * (time.at_risk - failed));
    }
    if (surviving > 0 && surviving < 1) {
      const double log_survival = std::log(surviving);
      const double half = 1.959963984540054 * std::sqrt(greenwood) / std::abs(log_survival);
      point.low = std::exp(log_survival * std::exp(half));
      point.high = std::exp(log_survival * std::exp(-half));
    }
    if (surviving <= 0) point.high = curve.empty() ? 1 : curve.back().high;
    curve.push_back(point);
  }
  return curve;
}

using Vector = std::array<double, kMostSigns>;
using Matrix = std::vector<Vector>;

// Solves a * x = b and inverts `a`, symmetric and positive definite, by Gauss and Jordan. False
// where it is neither.
bool Invert(Matrix a, Matrix& inverse) {
  const std::size_t n = a.size();
  inverse.assign(n, Vector{});
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(a[i][i] > 1e-12)) return false;
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

double Score(const Vector& effects, const Signs& signs, absl::Span<const std::size_t> which) {
  double sum = 0;
  for (std::size_t i = 0; i < which.size(); ++i) sum += effects[i] * signs[which[i]];
  return sum;
}

// The strata: who is of one age on machines of one kind. (With workloads in them, too, they would
// be so small that the hours that a failure cuts short are part of what it is compared with.)
bool SameStratum(const LifeCounts::Cell& a, const LifeCounts::Cell& b) {
  return a.machines == b.machines && a.age == b.age;
}

// Log partial likelihood at `effects`, up to a constant; its slope and the negative of its
// curvature. `cells` stand stratum by stratum; `hours` are theirs, times what their workloads add.
double Likelihood(absl::Span<const LifeCounts::Cell> cells, absl::Span<const double> hours,
                  absl::Span<const std::size_t> which, const Vector& effects, Vector& slope,
                  Matrix& information) {
  const std::size_t n = which.size();
  slope = {};
  information.assign(n, Vector{});
  double likelihood = 0;
  Matrix second;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    double failures = 0;
    for (end = begin; end < cells.size() && SameStratum(cells[begin], cells[end]); ++end) {
      failures += cells[end].failures;
    }
    if (failures <= 0 || end - begin < 2) continue;  // nothing to compare
    double weight = 0;
    Vector first{};
    second.assign(n, Vector{});
    for (std::size_t k = begin; k < end; ++k) {
      const LifeCounts::Cell& cell = cells[k];
      const double score = Score(effects, cell.signs, which);
      const double own = hours[k] * std::exp(score);
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

// Newton's method from `effects`, which become the estimate; `inverse` its covariance. False: there
// is none.
bool Maximise(absl::Span<const LifeCounts::Cell> cells, absl::Span<const double> hours,
              absl::Span<const std::size_t> which, Vector& effects, Matrix& inverse) {
  if (which.empty()) return true;
  Vector slope{};
  Matrix information;
  double likelihood = Likelihood(cells, hours, which, effects, slope, information);
  for (int round = 0; round < 50; ++round) {
    if (!Invert(information, inverse)) return false;
    Vector step{};
    double largest = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      for (std::size_t j = 0; j < which.size(); ++j) step[i] += inverse[i][j] * slope[j];
      largest = std::max(largest, std::abs(step[i]));
    }
    if (largest < 1e-8) return true;
    // The step is halved until it does not make it worse.
    bool better = false;
    for (double size = std::min(1.0, 2 / largest); size > 1e-6 && !better; size /= 2) {
      Vector tried = effects;
      for (std::size_t i = 0; i < which.size(); ++i) tried[i] += size * step[i];
      Vector tried_slope{};
      Matrix tried_information;
      const double value = Likelihood(cells, hours, which, tried, tried_slope, tried_information);
      if (!(value >= likelihood - 1e-12 * std::abs(likelihood))) continue;
      effects = tried;
      slope = tried_slope;
      information = std::move(tried_information);
      likelihood = value;
      better = true;
    }
    if (!better) return largest < 1e-5;
  }
  return false;
}

// `hours` times what each workload adds beside the others of its strata, given the effects.
void WeighWorkloads(absl::Span<const LifeCounts::Cell> cells, absl::Span<const std::size_t> which,
                    const Vector& effects, double shrink, std::vector<double>& hours) {
  absl::flat_hash_map<std::uint32_t, std::pair<double, double>> sums;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    double failures = 0;
    double weight = 0;
    for (end = begin; end < cells.size() && SameStratum(cells[begin], cells[end]); ++end) {
      failures += cells[end].failures;
      weight += hours[end] * std::exp(Score(effects, cells[end].signs, which));
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
    hours[k] = cells[k].hours * (seen + shrink) / (expected + shrink);
  }
}

}  // namespace

double AgeBegin(std::size_t age) {
  return age == 0 ? 0 : kFirstAge * std::exp2(0.5 * (static_cast<double>(age) - 1));
}

std::size_t AgeOf(double hours) {
  if (!(hours >= kFirstAge)) return 0;
  const double steps = 2 * std::log2(hours / kFirstAge);
  std::size_t age = std::min<std::size_t>(kAges - 1, static_cast<std::size_t>(steps) + 1);
  // What rounding did at the bounds.
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
  }
  cells_ = std::move(merged);
}

void LifeCounts::Add(std::uint32_t workload, std::uint32_t machines, double begin, double end,
                     const Signs& signs, bool failed) {
  if (!(begin >= 0) || !(end >= begin) || !std::isfinite(end)) return;
  const std::uint32_t packed = Packed(signs);
  const std::size_t last = AgeOf(end);
  for (std::size_t age = AgeOf(begin); age <= last; ++age) {
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
    if (here) {
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
                     Unpacked(key.signs), counted.hours, counted.failures});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.workload, a.machines, a.age, a.signs) <
           std::tie(b.workload, b.machines, b.age, b.signs);
  });
  return cells;
}

std::vector<CurvePoint> KaplanMeier(std::vector<Life> lives) {
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return a.hours < b.hours; });
  std::vector<AtRisk> times;
  for (std::size_t i = 0; i < lives.size();) {
    AtRisk time{lives[i].hours, static_cast<double>(lives.size() - i), 0};
    for (; i < lives.size() && lives[i].hours == time.hours; ++i) time.failed += lives[i].failed;
    if (time.failed > 0) times.push_back(time);
  }
  return CurveOf(times);
}

std::vector<CurvePoint> KaplanMeier(absl::Span<const LifeCounts::Cell> cells, int least_sign) {
  std::array<double, kAges> hours{};
  std::array<double, kAges> failures{};
  for (const LifeCounts::Cell& cell : cells) {
    const int strongest = *std::max_element(cell.signs.begin(), cell.signs.end());
    if (strongest < least_sign) continue;
    hours[cell.age] += cell.hours;
    failures[cell.age] += cell.failures;
  }
  std::vector<AtRisk> times;
  for (std::size_t age = 0; age + 1 < kAges; ++age) {
    if (hours[age] <= 0 && failures[age] <= 0) continue;
    // Who failed was there for half of the interval on average.
    const double width = AgeBegin(age + 1) - AgeBegin(age);
    times.push_back({AgeBegin(age + 1), hours[age] / width + failures[age] / 2, failures[age]});
  }
  return CurveOf(times);
}

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
  model.covariance.assign(kMostSigns, Vector{});
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
  std::vector<LifeCounts::Cell> cells(given.begin(), given.end());
  std::stable_sort(cells.begin(), cells.end(),
                   [](const LifeCounts::Cell& a, const LifeCounts::Cell& b) {
                     return std::tie(a.machines, a.age) < std::tie(b.machines, b.age);
                   });
  std::vector<double> hours;
  hours.reserve(cells.size());
  for (const LifeCounts::Cell& cell : cells) hours.push_back(cell.hours);
  Vector effects{};
  Matrix inverse;
  for (int round = 0; round < 4; ++round) {
    if (!Maximise(cells, hours, which, effects, inverse)) {
      return absl::FailedPreconditionError(
          "build-ups: the effects of the signs cannot be told apart; more runs are needed");
    }
    if (round < 3) WeighWorkloads(cells, which, effects, options.shrink, hours);
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    HazardModel::Sign& sign = model.signs[which[i]];
    sign.effect = effects[i];
    sign.error = std::sqrt(inverse[i][i]);
    sign.p = NormalUpperTail(sign.effect / sign.error);
    for (std::size_t j = 0; j < which.size(); ++j) {
      model.covariance[which[i]][which[j]] = inverse[i][j];
    }
  }
  FitFactors(cells, options.shrink, model);
  return model;
}

}  // namespace galen::advisor
