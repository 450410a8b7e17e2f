#include "common/perfmodel/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/median.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/predict.h"

namespace galen::perfmodel {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
// Latency of a collective whose bytes alone take all of its time by the rates.
constexpr double kLeastLatency = 1e-6;
// The weight of a model's own steps, relative to one step's worth of all models' steps.
constexpr double kPrior = 1;

// Values by the factor that they determine, and by the more general one.
using Told = std::map<std::string, std::vector<double>>;

void Tell(Told& told, const std::string& factor, double value) {
  std::string name = factor;
  for (;;) {
    told[name].push_back(value);
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) break;
    name.resize(dot);
  }
}

void SetShares(const Told& told, Calibration& calibration) {
  for (const auto& [name, logs] : told) {
    calibration.factors.Set(name, std::exp(Median(logs)));
    calibration.told_by[name] = logs.size();
  }
}

void TellRates(absl::Span<const Measurement* const> all, Calibration& calibration) {
  Told told;
  for (const Measurement* one : all) {
    if (one->kind == Measured::kStep) continue;
    const auto held = FactorOf(*one);
    if (!held.ok()) {
      calibration.unused.push_back(absl::StrCat(one->id, ": ", held.status().message()));
      continue;
    }
    if (one->kind == Measured::kRate) {
      Tell(told, held->factor, std::log(one->value / held->rate));
    } else if (one->bytes >= kGiB) {
      Tell(told, held->factor, std::log(one->bytes * held->volume / held->rate / one->value));
    }
  }
  SetShares(told, calibration);
}

void TellLatencies(absl::Span<const Measurement* const> all, Calibration& calibration) {
  struct Small {
    const Measurement* measured;
    double rest;  // seconds beyond its bytes
    double hops;
  };
  std::vector<double> within;
  std::vector<Small> between;
  for (const Measurement* one : all) {
    if (one->kind != Measured::kTransfer || one->bytes >= kGiB) continue;
    const auto held = FactorOf(*one);
    if (!held.ok()) continue;  // TellRates adds it to `unused`
    const auto share = calibration.factors.At(held->factor);
    if (!share.ok()) {
      calibration.unused.push_back(
          absl::StrCat(one->id, ": is smaller than 1 GiB, so that it tells a latency, and ",
                       share.status().message(), " from 1 GiB on"));
      continue;
    }
    const double rest = one->value - one->bytes * held->volume / (held->rate * *share);
    if (held->hops == 0) {
      within.push_back(std::max(rest, kLeastLatency));
    } else {
      between.push_back({one, rest, static_cast<double>(held->hops)});
    }
  }
  if (within.empty()) {
    for (const Small& small : between) {
      calibration.unused.push_back(
          absl::StrCat(small.measured->id,
                       ": tells the latency between nodes only beside that within one, and no "
                       "collective smaller than 1 GiB within a node is measured"));
    }
    return;
  }
  const double node = Median(within);
  calibration.factors.Set("latency.node", node);
  calibration.told_by["latency.node"] = within.size();
  if (between.empty()) return;
  std::vector<double> hops;
  for (const Small& small : between) {
    hops.push_back(std::max((small.rest - node) / small.hops, kLeastLatency));
  }
  calibration.factors.Set("latency.net", Median(hops));
  calibration.told_by["latency.net"] = hops.size();
}

// The bounds of a plausible share of the rates for a measured step; other shares are rejected.
constexpr double kLeastShare = 0.005;
constexpr double kMostShare = 4.0;

// The share at which the predicted time equals the measured one; the time falls as the share grows.
// FAILED_PRECONDITION: no share from kLeastShare to kMostShare does.
absl::StatusOr<double> ImpliedShare(const Measurement& one, Factors factors) {
  const std::string name = absl::StrCat("step.", one.machine.gpu);
  const auto seconds_at = [&](double share) {
    factors.Set(name, share);
    return Predict(one, factors);
  };
  GALEN_ASSIGN_OR_RETURN(const double most, seconds_at(kLeastShare));
  GALEN_ASSIGN_OR_RETURN(const double least, seconds_at(kMostShare));
  if (one.value < least || one.value > most) {
    return absl::FailedPreconditionError(absl::StrCat(
        one.value, " s measured, and the model allows ", least, " to ", most,
        " s; is its shape, or the machine's links and adapters (nics), what was measured?"));
  }
  double low = std::log(kLeastShare);
  double high = std::log(kMostShare);
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    GALEN_ASSIGN_OR_RETURN(const double seconds, seconds_at(std::exp(middle)));
    (seconds > one.value ? low : high) = middle;
  }
  return (low + high) / 2;
}

struct Steps {
  std::vector<const Measurement*> all;
  std::vector<double> shares;  // logarithms, as implied
};

// The share of one GPU model's steps, without step `left_out`.
double ShareOf(const Steps& steps, const std::string& gpu, std::size_t left_out) {
  std::vector<double> all;
  std::vector<double> own;
  for (std::size_t i = 0; i < steps.all.size(); ++i) {
    if (i == left_out) continue;
    all.push_back(steps.shares[i]);
    if (steps.all[i]->machine.gpu == gpu) own.push_back(steps.shares[i]);
  }
  if (all.empty()) return 0;
  const double general = Median(all);
  if (own.empty()) return general;
  const auto n = static_cast<double>(own.size());
  return (n * Median(own) + kPrior * general) / (n + kPrior);
}

// The deviation of each step from the prediction of all others.
std::vector<double> MissesOf(const Steps& steps, Factors factors) {
  std::vector<double> misses;
  if (steps.all.size() < 2) return misses;
  for (std::size_t i = 0; i < steps.all.size(); ++i) {
    const std::string& gpu = steps.all[i]->machine.gpu;
    factors.Set(absl::StrCat("step.", gpu), std::exp(ShareOf(steps, gpu, i)));
    const auto seconds = Predict(*steps.all[i], factors);
    if (seconds.ok()) misses.push_back(std::abs(std::log(steps.all[i]->value / *seconds)));
  }
  return misses;
}

// The result of the steps with one overlap.
struct Degree {
  double overlap = 0;
  Factors factors;
  std::map<const Measurement*, absl::StatusOr<double>> shares;  // logarithms
};

// The steps that imply a share with this overlap; with `common`, only those in it.
Steps StepsOf(absl::Span<const Measurement* const> all, const Degree& degree,
              const std::set<const Measurement*>* common = nullptr) {
  Steps steps;
  for (const Measurement* one : all) {
    const auto share = degree.shares.find(one);
    if (share == degree.shares.end() || !share->second.ok()) continue;
    if (common != nullptr && !common->contains(one)) continue;
    steps.all.push_back(one);
    steps.shares.push_back(*share->second);
  }
  return steps;
}

std::vector<Degree> Degrees(absl::Span<const Measurement* const> all, const Factors& factors) {
  constexpr int kDegrees = 10;
  std::vector<Degree> degrees;
  for (int i = 0; i <= kDegrees; ++i) {
    Degree& degree = degrees.emplace_back();
    degree.overlap = static_cast<double>(i) / kDegrees;
    degree.factors = factors;
    degree.factors.Set("overlap", degree.overlap);
    for (const Measurement* one : all) {
      if (one->kind == Measured::kStep)
        degree.shares.emplace(one, ImpliedShare(*one, degree.factors));
    }
  }
  return degrees;
}

// The overlap with the least mean error over the steps that imply a share with each, so that none
// wins because a step that it does not explain drops out. If there are no such steps, the one that
// explains most.
const Degree& BestOf(absl::Span<const Measurement* const> all, const std::vector<Degree>& degrees) {
  std::set<const Measurement*> common;
  for (const auto& [one, share] : degrees.front().shares) {
    if (std::all_of(degrees.begin(), degrees.end(),
                    [one = one](const Degree& degree) { return degree.shares.at(one).ok(); })) {
      common.insert(one);
    }
  }
  const Degree* best = &degrees.front();
  double least = std::numeric_limits<double>::infinity();
  for (const Degree& degree : degrees) {
    double error = 0;
    if (common.empty()) {
      error = -static_cast<double>(StepsOf(all, degree).all.size());
    } else {
      const std::vector<double> misses = MissesOf(StepsOf(all, degree, &common), degree.factors);
      for (const double miss : misses) error += miss / static_cast<double>(misses.size());
    }
    // More overlap means a better built job: among equal errors the larger degree.
    if (error <= least) {
      least = error;
      best = &degree;
    }
  }
  return *best;
}

// Chooses the overlap, and returns the shares that steps imply with it.
Steps TellSteps(absl::Span<const Measurement* const> all, Calibration& calibration) {
  const std::vector<Degree> degrees = Degrees(all, calibration.factors);
  const Degree& best = BestOf(all, degrees);
  for (const Measurement* one : all) {
    const auto share = best.shares.find(one);
    if (share != best.shares.end() && !share->second.ok()) {
      calibration.unused.push_back(absl::StrCat(one->id, ": ", share->second.status().message()));
    }
  }
  Steps steps = StepsOf(all, best);
  if (steps.all.empty()) return steps;
  calibration.factors.Set("overlap", best.overlap);
  calibration.told_by["overlap"] = steps.all.size();
  calibration.factors.Set("step", std::exp(Median(steps.shares)));
  calibration.told_by["step"] = steps.all.size();
  for (const Measurement* one : steps.all) {
    const std::string name = absl::StrCat("step.", one->machine.gpu);
    calibration.factors.Set(name, std::exp(ShareOf(steps, one->machine.gpu, steps.all.size())));
    ++calibration.told_by[name];
  }
  return steps;
}

void TellPower(absl::Span<const Measurement* const> all, Calibration& calibration) {
  Told told;
  for (const Measurement* one : all) {
    if (one->kind == Measured::kStep && one->power > 0 && one->machine.power > 0) {
      Tell(told, absl::StrCat("power.", one->machine.gpu),
           std::log(one->power / one->machine.power));
    }
  }
  SetShares(told, calibration);
}

}  // namespace

std::string KinOf(const Measurement& measurement) {
  const bool between = measurement.kind == Measured::kTransfer && measurement.group.Nodes() > 1;
  return absl::StrCat(ToString(measurement.kind), between ? ".net" : "");
}

absl::StatusOr<Calibration> Calibrate(absl::Span<const Measurement> measurements) {
  if (measurements.size() > kMostMeasurements) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMostMeasurements, " measurements"));
  }
  std::vector<const Measurement*> all;
  for (const Measurement& one : measurements) {
    if (!std::isfinite(one.value) || one.value <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(one.id, ": the measured value is not a positive number"));
    }
    if (!one.held_out) all.push_back(&one);
  }
  Calibration calibration;
  TellRates(all, calibration);
  TellLatencies(all, calibration);
  const Steps steps = TellSteps(all, calibration);
  TellPower(all, calibration);
  if (auto misses = MissesOf(steps, calibration.factors); !misses.empty()) {
    calibration.misses["step"] = std::move(misses);
  }
  std::vector<const Measurement*> others;
  for (const Measurement* one : all) {
    if (one->kind == Measured::kStep) continue;
    others.clear();
    std::copy_if(all.begin(), all.end(), std::back_inserter(others),
                 [one](const Measurement* other) { return other != one; });
    Calibration without;
    TellRates(others, without);
    TellLatencies(others, without);
    if (const auto predicted = Predict(*one, without.factors); predicted.ok()) {
      calibration.misses[KinOf(*one)].push_back(std::abs(std::log(one->value / *predicted)));
    }
  }
  for (auto& [kin, misses] : calibration.misses) std::sort(misses.begin(), misses.end());
  return calibration;
}

absl::StatusOr<Interval> IntervalOf(const Calibration& calibration, absl::string_view kin,
                                    double predicted, double confidence) {
  const auto found = calibration.misses.find(std::string(kin));
  if (found == calibration.misses.end() || found->second.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no interval: too few measurements of a ", kin, " to tell how far they miss"));
  }
  const std::vector<double>& misses = found->second;
  const auto n = static_cast<double>(misses.size());
  const double wanted = std::ceil((n + 1) * std::clamp(confidence, 0.0, 1.0));
  const double rank = std::clamp(wanted, 1.0, n);
  const double miss = misses[static_cast<std::size_t>(rank) - 1];
  Interval interval;
  interval.expected = predicted;
  interval.low = predicted * std::exp(-miss);
  interval.high = predicted * std::exp(miss);
  interval.confidence = std::min(confidence, rank / (n + 1));
  return interval;
}

}  // namespace galen::perfmodel
