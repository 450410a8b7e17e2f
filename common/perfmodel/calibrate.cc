#include "common/perfmodel/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/predict.h"

namespace galen::perfmodel {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kNoLatency = 1e-6;
// A model's own steps count so much against one step's worth of what all models' steps say.
constexpr double kPrior = 1;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Values by the factor that they tell, and by what is more general.
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
  std::vector<double> within;
  std::vector<std::pair<double, double>> between;  // seconds, hops
  for (const Measurement* one : all) {
    if (one->kind != Measured::kTransfer || one->bytes >= kGiB) continue;
    const auto held = FactorOf(*one);
    if (!held.ok()) continue;
    const auto share = calibration.factors.At(held->factor);
    if (!share.ok()) continue;
    const double rest = one->value - one->bytes * held->volume / (held->rate * *share);
    if (held->hops == 0) {
      within.push_back(std::max(rest, kNoLatency));
    } else {
      between.emplace_back(rest, static_cast<double>(held->hops));
    }
  }
  const double node = within.empty() ? kNoLatency : Median(within);
  calibration.factors.Set("latency.node", node);
  calibration.told_by["latency.node"] = within.size();
  std::vector<double> hops;
  for (const auto& [rest, count] : between) {
    hops.push_back(std::max((rest - node) / count, kNoLatency));
  }
  calibration.factors.Set("latency.net", hops.empty() ? node : Median(hops));
  calibration.told_by["latency.net"] = hops.size();
}

// The share at which the step takes as long as was measured; the time falls as the share grows.
absl::StatusOr<double> ImpliedShare(const Measurement& one, Factors factors) {
  const std::string name = absl::StrCat("step.", one.machine.gpu);
  double low = std::log(0.005);
  double high = std::log(4.0);
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    factors.Set(name, std::exp(middle));
    GALEN_ASSIGN_OR_RETURN(const double seconds, Predict(one, factors));
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

// How far each step lies from what all others let expect of it.
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

// Chooses the overlap, and returns the shares that steps imply with it.
Steps TellSteps(absl::Span<const Measurement* const> all, Calibration& calibration) {
  constexpr int kDegrees = 10;
  Steps best;
  double least = std::numeric_limits<double>::infinity();
  double overlap = 0;
  for (int degree = 0; degree <= kDegrees; ++degree) {
    Factors factors = calibration.factors;
    factors.Set("overlap", static_cast<double>(degree) / kDegrees);
    Steps steps;
    for (const Measurement* one : all) {
      if (one->kind != Measured::kStep) continue;
      const auto share = ImpliedShare(*one, factors);
      if (share.ok()) {
        steps.all.push_back(one);
        steps.shares.push_back(*share);
      } else if (degree == 0) {
        calibration.unused.push_back(absl::StrCat(one->id, ": ", share.status().message()));
      }
    }
    if (steps.all.empty()) return steps;
    double error = 0;
    for (const double miss : MissesOf(steps, factors)) error += miss;
    // The more hides the better a job is built: of equal errors the larger degree.
    if (error <= least) {
      least = error;
      overlap = static_cast<double>(degree) / kDegrees;
      best = std::move(steps);
    }
  }
  calibration.factors.Set("overlap", overlap);
  calibration.told_by["overlap"] = best.all.size();
  calibration.factors.Set("step", std::exp(Median(best.shares)));
  calibration.told_by["step"] = best.all.size();
  for (const Measurement* one : best.all) {
    const std::string name = absl::StrCat("step.", one->machine.gpu);
    calibration.factors.Set(name, std::exp(ShareOf(best, one->machine.gpu, best.all.size())));
    ++calibration.told_by[name];
  }
  return best;
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
          absl::StrCat(one.id, ": what was measured is no positive number"));
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
