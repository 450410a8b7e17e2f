#include "common/perfmodel/holdout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::perfmodel {
namespace {

std::string GroupOf(const Measurement& one) {
  if (one.kind == Measured::kStep) return "step";
  const auto held = FactorOf(one);
  return held.ok() ? held->factor : "";
}

}  // namespace

absl::StatusOr<Trial> TryHalf(absl::Span<const Measurement> measurements, double confidence,
                              std::optional<std::uint32_t> seed) {
  std::map<std::string, std::vector<const Measurement*>> groups;
  std::vector<const Measurement*> testing;
  std::vector<const Measurement*> held_out;
  for (const Measurement& one : measurements) {
    if (one.held_out) {
      held_out.push_back(&one);
    } else {
      groups[GroupOf(one)].push_back(&one);
    }
  }
  Trial trial;
  std::mt19937 random(seed.value_or(0));
  for (auto& [name, group] : groups) {
    if (seed.has_value()) {
      // (std::shuffle is not the same everywhere.)
      for (std::size_t i = group.size(); i > 1; --i) std::swap(group[i - 1], group[random() % i]);
    }
    const auto half = static_cast<std::ptrdiff_t>((group.size() + 1) / 2);
    trial.calibrated.insert(trial.calibrated.end(), group.begin(), group.begin() + half);
    testing.insert(testing.end(), group.begin() + half, group.end());
  }
  std::vector<Measurement> known;
  known.reserve(trial.calibrated.size());
  for (const Measurement* one : trial.calibrated) known.push_back(*one);
  GALEN_ASSIGN_OR_RETURN(trial.calibration, Calibrate(known));
  testing.insert(testing.end(), held_out.begin(), held_out.end());
  for (const Measurement* one : testing) {
    const auto predicted = Predict(*one, trial.calibration.factors);
    const auto interval = predicted.ok()
                              ? IntervalOf(trial.calibration, KinOf(*one), *predicted, confidence)
                              : predicted.status();
    if (!interval.ok()) {
      trial.untested.push_back(absl::StrCat(one->id, ": ", interval.status().message()));
      continue;
    }
    trial.tested.push_back({one, *interval, *predicted / one->value - 1,
                            interval->low <= one->value && one->value <= interval->high});
  }
  return trial;
}

Errors ErrorsOf(const Trial& trial, std::optional<Measured> kind, bool held_out) {
  std::vector<double> errors;
  Errors result;
  for (const Tested& one : trial.tested) {
    if ((kind.has_value() && one.measurement->kind != *kind) ||
        one.measurement->held_out != held_out) {
      continue;
    }
    errors.push_back(std::abs(one.error));
    result.covered += one.covered ? 1 : 0;
  }
  result.tested = errors.size();
  if (errors.empty()) return result;
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  result.median =
      errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  result.worst = errors.back();
  return result;
}

}  // namespace galen::perfmodel
