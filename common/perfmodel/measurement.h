#ifndef COMMON_PERFMODEL_MEASUREMENT_H_
#define COMMON_PERFMODEL_MEASUREMENT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/collective.h"
#include "common/perfmodel/factors.h"
#include "common/perfmodel/job.h"
#include "common/perfmodel/machine.h"

namespace galen::perfmodel {

// The kind of a measurement: the rate of one resource, the time of one collective, or a step of
// training.
enum class Measured { kRate, kTransfer, kStep };

absl::string_view ToString(Measured kind);

struct Measurement {
  std::string id;
  std::string source;
  std::string place;  // its place, "file:line"; "" if it is not from a file
  Measured kind = Measured::kRate;
  Machine machine;

  std::string resource;                            // kRate: "compute", "memory", "host" or "pair"
  std::string precision;                           // kRate of compute
  Collective collective = Collective::kAllReduce;  // kTransfer, with `group` and `bytes`
  Group group;
  double bytes = 0;
  std::optional<Job> job;  // kStep

  // Operations or bytes a second of a rate; else seconds. Positive.
  double value = 0;
  double power = 0;       // watts of a board meanwhile; 0: not measured
  bool held_out = false;  // never used for calibration, only for tests
};

// The value predicted from the factors, in the unit of `value`.
absl::StatusOr<double> Predict(const Measurement& measurement, const Factors& factors);

// The factor that a rate determines ("memory", "compute.nvidia.16bit"), and the rate by the data
// sheet.
absl::StatusOr<Bottleneck> FactorOf(const Measurement& measurement);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_MEASUREMENT_H_
