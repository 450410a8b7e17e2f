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

// Counts without the workload, which the model of effects does not know.
struct Group {
  std::size_t age = 0;
  Signs signs{};
  double hours = 0;
  double failures = 0;
};

std::vector<Group> GroupsOf(absl::Span<const LifeCounts::Cell> cells) {
  absl::flat_hash_map<std::uint64_t, Group> groups;
  for (const LifeCounts::Cell& cell : cells) {
    Group& group = groups[(std::uint64_t{cell.age} << 32) | Packed(cell.signs)];
    group.age = cell.age;
    group.signs = cell.signs;
    group.hours += cell.hours;
    group.failures += cell.failures;
  }
  std::vector<std::pair<std::uint64_t, Group>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Group> result;
  result.reserve(sorted.size());
  for (auto& [key, group] : sorted) result.push_back(group);
  return result;
}

struct Sums {
  double weight = 0;
  Vector first{};
  Matrix second;
};

// Log partial likelihood at `effects`; its slope and the negative of its curvature.
double Likelihood(absl::Span<const Group> groups, absl::Span<const std::size_t> which,
                  const Vector& effects, Vector& slope, Matrix& information) {
  const std::size_t n = which.size();
  slope = {};
  information.assign(n, Vector{});
  double likelihood = 0;
  std::vector<Sums> ages(kAges);
  std::array<double, kAges> failures{};
  for (Sums& age : ages) age.second.assign(n, Vector{});
  for (const Group& group : groups) {
    Sums& age = ages[group.age];
    const double score = Score(effects, group.signs, which);
    const double weight = group.hours * std::exp(score);
    age.weight += weight;
    failures[group.age] += group.failures;
    likelihood += group.failures * score;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = group.signs[which[i]];
      if (x == 0) continue;
      slope[i] += group.failures * x;
      age.first[i] += weight * x;
      for (std::size_t j = 0; j <= i; ++j) age.second[i][j] += weight * x * group.signs[which[j]];
    }
  }
  for (std::size_t a = 0; a < kAges; ++a) {
    const Sums& age = ages[a];
    if (failures[a] <= 0 || !(age.weight > 0)) continue;
    likelihood -= failures[a] * std::log(age.weight);
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = age.first[i] / age.weight;
      slope[i] -= failures[a] * mean;
      for (std::size_t j = 0; j <= i; ++j) {
        const double value =
            failures[a] * (age.second[i][j] / age.weight - mean * age.first[j] / age.weight);
        information[i][j] += value;
        if (i != j) information[j][i] += value;
      }
    }
  }
  return likelihood;
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

LifeCounts::Counted* LifeCounts::Find(const Key& key) {
  if (const auto it = cells_.find(key); it != cells_.end()) return &it->second;
  if (cells_.size() >= most_cells_) return nullptr;
  return &cells_[key];
}

void LifeCounts::Add(std::uint32_t workload, double begin, double end, const Signs& signs,
                     bool failed) {
  if (!(begin >= 0) || !(end >= begin) || !std::isfinite(end)) return;
  const std::uint32_t packed = Packed(signs);
  const std::size_t last = AgeOf(end);
  for (std::size_t age = AgeOf(begin); age <= last; ++age) {
    const double from = std::max(begin, AgeBegin(age));
    const double to = age + 1 < kAges ? std::min(end, AgeBegin(age + 1)) : end;
    const bool here = failed && age == last;
    if (to <= from && !here) continue;
    Counted* cell = Find({(std::uint64_t{workload} << 8) | age, packed});
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
    cells.push_back({static_cast<std::uint32_t>(key.place >> 8),
                     static_cast<std::size_t>(key.place & 0xff), Unpacked(key.signs), counted.hours,
                     counted.failures});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.workload, a.age, a.signs) < std::tie(b.workload, b.age, b.signs);
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

double HazardModel::Rate(std::size_t age, const Signs& signs_now, std::uint32_t workload) const {
  double score = 0;
  for (std::size_t i = 0; i < kMostSigns; ++i) score += signs[i].effect * signs_now[i];
  const auto it = workloads.find(workload);
  return base[std::min(age, kAges - 1)] * std::exp(score) *
         (it == workloads.end() ? 1 : it->second);
}

double HazardModel::Probability(double at, double horizon, const Signs& signs_now,
                                std::uint32_t workload) const {
  if (!(at >= 0) || !(horizon > 0)) return 0;
  double sum = 0;
  const double until = at + horizon;
  for (std::size_t age = AgeOf(at); age < kAges; ++age) {
    const double from = std::max(at, AgeBegin(age));
    const double to = age + 1 < kAges ? std::min(until, AgeBegin(age + 1)) : until;
    if (to > from) sum += Rate(age, signs_now, workload) * (to - from);
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

absl::StatusOr<HazardModel> FitHazard(absl::Span<const LifeCounts::Cell> cells,
                                      const FitOptions& options) {
  const std::vector<Group> groups = GroupsOf(cells);
  HazardModel model;
  model.covariance.assign(kMostSigns, Vector{});
  std::array<double, kAges> failures{};
  for (const Group& group : groups) {
    model.hours += group.hours;
    model.failures += group.failures;
    failures[group.age] += group.failures;
    for (std::size_t i = 0; i < kMostSigns; ++i) {
      if (group.signs[i] == 0) continue;
      model.signs[i].hours += group.hours;
      model.signs[i].failures += group.failures;
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
  Vector effects{};
  Vector slope{};
  Matrix information;
  Matrix inverse;
  double likelihood = Likelihood(groups, which, effects, slope, information);
  bool found = which.empty();
  for (int round = 0; round < 50 && !found; ++round) {
    if (!Invert(information, inverse)) break;
    Vector step{};
    double largest = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      for (std::size_t j = 0; j < which.size(); ++j) step[i] += inverse[i][j] * slope[j];
      largest = std::max(largest, std::abs(step[i]));
    }
    // Newton's step, halved until it does not make it worse.
    bool better = false;
    for (double size = std::min(1.0, 2 / std::max(largest, 1e-300)); size > 1e-6; size /= 2) {
      Vector tried = effects;
      for (std::size_t i = 0; i < which.size(); ++i) tried[i] += size * step[i];
      Vector tried_slope{};
      Matrix tried_information;
      const double value = Likelihood(groups, which, tried, tried_slope, tried_information);
      if (!(value >= likelihood - 1e-12 * std::abs(likelihood))) continue;
      effects = tried;
      slope = tried_slope;
      information = std::move(tried_information);
      likelihood = value;
      better = true;
      break;
    }
    found = better && largest < 1e-8;
    if (!better && largest < 1e-5) found = true;
    if (!better) break;
  }
  if (!found || (!which.empty() && !Invert(information, inverse))) {
    return absl::FailedPreconditionError(
        "build-ups: the effects of the signs cannot be told apart; more runs are needed");
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
  std::array<double, kAges> weights{};
  for (const Group& group : groups) {
    weights[group.age] += group.hours * std::exp(Score(effects, group.signs, which));
  }
  for (std::size_t age = 0; age < kAges; ++age) {
    // An age that nobody came to is as bad as the one before.
    model.base[age] = weights[age] > 0 ? failures[age] / weights[age]
                      : age > 0        ? model.base[age - 1]
                                       : 0;
  }
  absl::flat_hash_map<std::uint32_t, std::pair<double, double>> of_workloads;
  for (const LifeCounts::Cell& cell : cells) {
    auto& [seen, expected] = of_workloads[cell.workload];
    seen += cell.failures;
    expected += cell.hours * model.Rate(cell.age, cell.signs, cell.workload);
  }
  for (const auto& [workload, counted] : of_workloads) {
    model.workloads[workload] =
        (counted.first + options.shrink) / (counted.second + options.shrink);
  }
  return model;
}

}  // namespace galen::advisor
