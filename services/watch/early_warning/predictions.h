#ifndef SERVICES_WATCH_EARLY_WARNING_PREDICTIONS_H_
#define SERVICES_WATCH_EARLY_WARNING_PREDICTIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/calibrate.h"
#include "common/perfmodel/tables/read_table.h"
#include "common/telemetry/discovery.h"
#include "services/watch/early_warning/fleet_view.h"

namespace galen::watch::early_warning {

// By GPU model: the facts of knowledge/hardware.
using HardwareFacts = std::map<std::string, std::map<std::string, double>>;

// The least performance that a job should achieve while its machines are healthy.
struct PredictedJob {
  double low = 0;  // tokens a second of all of its GPUs: the lower end of the model's interval
  double gpus = 1;
  double nodes = 1;
  perfmodel::Covers covers = perfmodel::Covers::kJob;  // a series of its throughput
};

// From a job's file (docs/perfmodel.md). INVALID_ARGUMENT "file:line: what", FAILED_PRECONDITION:
// data that the model lacks. Pure.
absl::StatusOr<PredictedJob> PredictJob(absl::string_view text, absl::string_view file,
                                        const HardwareFacts& facts,
                                        const perfmodel::Calibration& calibration);

// The values that each job's throughput is compared with, if no series gives them. `measured` shows
// which metric throughput comes from, and so whether a series is of one GPU whatever the job's file
// says. Pure.
Assumed LowEndsOf(const std::map<std::string, PredictedJob>& jobs,
                  const std::map<std::string, telemetry::Measured>& measured);

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_PREDICTIONS_H_
