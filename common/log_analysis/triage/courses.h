#ifndef COMMON_LOG_ANALYSIS_TRIAGE_COURSES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_COURSES_H_

#include <vector>

#include "common/log_analysis/triage/report.h"
#include "common/log_analysis/triage/step_track.h"

namespace galen::triage {

// The quantities of `track` over its steps. Pure.
std::vector<Course> CoursesOf(const StepTrack& track, const JobContext& context);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_COURSES_H_
