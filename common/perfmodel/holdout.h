#ifndef COMMON_PERFMODEL_HOLDOUT_H_
#define COMMON_PERFMODEL_HOLDOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/perfmodel/calibrate.h"

namespace galen::perfmodel {

// A measurement and its prediction from the factors of other measurements.
struct Tested {
  const Measurement* measurement = nullptr;  // whether it lies in the predicted interval
  Interval interval;
  double error = 0;  // predicted / measured - 1
  bool covered = false;
};

// Half of the measurements, tested by factors of the other half.
struct Trial {
  Calibration calibration;
  std::vector<const Measurement*> calibrated;
  std::vector<Tested> tested;         // held-out ones are always last
  std::vector<std::string> untested;  // what cannot be predicted from that half, with reasons
};

// The first half of the measurements that determine one factor (for steps: of all), rounded up,
// calibrates: in the given order, or, with a seed, in a random one. Held-out measurements are only
// tested. Errors are those of Calibrate.
absl::StatusOr<Trial> TryHalf(absl::Span<const Measurement> measurements, double confidence,
                              std::optional<std::uint32_t> seed = std::nullopt);

// Errors of predictions.
struct Errors {
  std::size_t tested = 0;
  double median = 0;  // of |error|
  double worst = 0;
  std::size_t covered = 0;  // measured within their interval
};

// For one kind, or for all; the held-out ones, or the others.
Errors ErrorsOf(const Trial& trial, std::optional<Measured> kind, bool held_out);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_HOLDOUT_H_
