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

// What factors of other measurements let expect of one.
struct Tested {
  const Measurement* measurement = nullptr;  // lies in what was given
  Interval interval;
  double error = 0;  // predicted / measured - 1
  bool covered = false;
};

// Half of the measurements tested by factors of the other half.
struct Trial {
  Calibration calibration;
  std::vector<const Measurement*> calibrated;
  std::vector<Tested> tested;         // those that are held out always stand last
  std::vector<std::string> untested;  // what that half does not let predict, and why
};

// Of those that tell one factor (for steps: all of them) the first half, rounded up, calibrates: in
// the order in which they stand, or, with a seed, in one drawn. What is held out is only tested.
// Errors are those of Calibrate.
absl::StatusOr<Trial> TryHalf(absl::Span<const Measurement> measurements, double confidence,
                              std::optional<std::uint32_t> seed = std::nullopt);

// How far off predictions were.
struct Errors {
  std::size_t tested = 0;
  double median = 0;  // of |error|
  double worst = 0;
  std::size_t covered = 0;  // measured within their interval
};

// Of those of one kind, or of all; held-out ones, or the others.
Errors ErrorsOf(const Trial& trial, std::optional<Measured> kind, bool held_out);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_HOLDOUT_H_
