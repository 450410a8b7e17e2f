#ifndef SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_
#define SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_

#include <string>
#include <vector>

#include "common/perfmodel/expect.h"
#include "common/perfmodel/holdout.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// What `galen model predict` and `explain` show.
struct PredictionPage {
  perfmodel::Job job;
  perfmodel::Machine machine;
  perfmodel::Expectation expected;
  bool explained = false;  // also where the time goes
};

std::string PredictionText(const PredictionPage& page, const Terminal& terminal);
std::string PredictionJson(const PredictionPage& page);

std::string CalibrationText(const perfmodel::Calibration& calibration, const Terminal& terminal);
std::string CalibrationJson(const perfmodel::Calibration& calibration);

// One trial in the order of the files, and further ones in drawn orders.
std::string TrialText(const perfmodel::Trial& trial, const std::vector<perfmodel::Trial>& drawn,
                      const Terminal& terminal);
std::string TrialJson(const perfmodel::Trial& trial, const std::vector<perfmodel::Trial>& drawn);

// What bounds a step, in words: "products of matrices".
std::string BoundOf(const perfmodel::StepTime& time);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PERFMODEL_MODEL_TEXT_H_
