#ifndef COMMON_LOG_ANALYSIS_TRIAGE_MISSING_FACTS_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_MISSING_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/log_analysis/triage/report.h"
#include "common/log_analysis/triage/step_track.h"

namespace galen::triage {

// Facts that the logs of `report` do not show, and their possible sources. `track`: of the format
// that defines the progress; null: there is none. `done`: when the last step was done. Pure.
std::vector<std::string> MissingFacts(const JobReport& report, const StepTrack* track,
                                      std::optional<absl::Time> done);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_MISSING_FACTS_H_
