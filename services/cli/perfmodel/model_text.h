#ifndef SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_
#define SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "common/perfmodel/expect.h"
#include "common/perfmodel/holdout.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// Contents of `galen model predict` and `explain`.
struct PredictionPage {
  perfmodel::Job job;
  perfmodel::Machine machine;
  perfmodel::Expectation expected;
  std::optional<double> took;  // seconds of a measured step, for comparison
  bool explained = false;      // also where the time goes
};

std::string PredictionText(const PredictionPage& page, const Terminal& terminal);
std::string PredictionJson(const PredictionPage& page);

// Intervals are those at `confidence`, as far as the measurements allow it.
std::string CalibrationText(const perfmodel::Calibration& calibration, double confidence,
                            const Terminal& terminal);
std::string CalibrationJson(const perfmodel::Calibration& calibration, double confidence);

// One trial in the order of the files, and further ones in drawn orders.
std::string TrialText(const perfmodel::Trial& trial, const std::vector<perfmodel::Trial>& drawn,
                      const Terminal& terminal);
std::string TrialJson(const perfmodel::Trial& trial, const std::vector<perfmodel::Trial>& drawn);

// How a measured step stands to its interval: "within", "above" or "below".
std::string StandingName(perfmodel::Standing standing);

// The bound of a step, in words: "products of matrices".
std::string BoundOf(const perfmodel::StepTime& time);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_
