#ifndef COMMON_PERFMODEL_CALIBRATE_H_
#define COMMON_PERFMODEL_CALIBRATE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/perfmodel/factors.h"
#include "common/perfmodel/measurement.h"

namespace galen::perfmodel {

inline constexpr std::size_t kMostMeasurements = 1024;

// The range of a value, and its confidence.
struct Interval {
  double low = 0;
  double expected = 0;
  double high = 0;
  // The highest confidence that n calibrating measurements permit: n / (n + 1).
  double confidence = 0;
};

// Factors, and the deviation of measurements that they were not based on.
struct Calibration {
  Factors factors;
  std::map<std::string, std::size_t> told_by;  // number of measurements behind a factor
  // |ln(measured / predicted)| of each measurement by all others, ascending, by KinOf.
  std::map<std::string, std::vector<double>> misses;
  std::vector<std::string> unused;  // measurements that could not be used, with reasons
};

// Measurements with similar errors: "rate", "step", and "transfer" or, between nodes,
// "transfer.net".
std::string KinOf(const Measurement& measurement);

// Factors are medians, so that a measurement of a broken machine does not move them. For rates, and
// for collectives from 1 GiB on, the factor is the share of the data sheet; for smaller collectives
// the time beyond their bytes, at least 1 us. For steps it is the share of the rates at which the
// prediction equals the measurement; for each GPU model it is shrunk towards that of all models by
// one measurement's weight. The overlap is the one with the least mean error over the steps that
// each overlap can explain. A factor without measurements is not set. INVALID_ARGUMENT: more than
// kMostMeasurements, or a value that is not a positive number.
absl::StatusOr<Calibration> Calibrate(absl::Span<const Measurement> measurements);

// The interval of a prediction from the errors of the others, leaving each out in turn (split
// conformal prediction over leave-one-out residuals: Lei et al., arXiv:1604.04173, section 2;
// Barber et al., arXiv:1905.02928). It holds for jobs that resemble the calibrating measurements;
// for others nothing can be said. FAILED_PRECONDITION: no measurement of that kind.
absl::StatusOr<Interval> IntervalOf(const Calibration& calibration, absl::string_view kin,
                                    double predicted, double confidence);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_CALIBRATE_H_
