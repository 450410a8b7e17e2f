#ifndef COMMON_LOG_ANALYSIS_TRIAGE_PROJECTION_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_PROJECTION_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "common/log_analysis/triage/catalogue.h"
#include "common/log_analysis/triage/report.h"

namespace galen::triage {

// Adds to the progress of a decided `report` what follows from its steps: the time that remains,
// the step that was due by now, and the steps that a restart repeats. `done`: when the last step
// was done. `saved`: the step of the last checkpoint that the log reports as written. Pure.
void ProjectSteps(const StepFormat& format, std::optional<absl::Time> done,
                  std::optional<std::int64_t> saved, JobReport& report);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_PROJECTION_H_
