#ifndef COMMON_KNOWLEDGE_CLEAN_RESULT_H_
#define COMMON_KNOWLEDGE_CLEAN_RESULT_H_

#include <cstddef>

#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// Limits of a check result from any source: its texts are foreign, and all of them end up in event
// logs, reports and terminals.
inline constexpr int kMaxFindings = 10'000;
inline constexpr int kMaxCourses = 16;
inline constexpr int kMaxCourseValues = 240;
inline constexpr int kMaxCourseLevels = 64;
inline constexpr int kMaxWanted = 16;
inline constexpr std::size_t kMaxMessageBytes = 1024;
inline constexpr std::size_t kMaxExcerptBytes = 4096;

// Cleans and cuts every text of a finding; an invalid time is removed. Pure.
void CleanFinding(galen::v1::Finding& finding);

// Removes courses beyond the limits above, courses without a time or step, and values that are
// neither a JSON number nor NaN. Pure.
void CleanCourses(galen::v1::CheckResult& result);

// Cleans and cuts what to collect. Pure.
void CleanWanted(galen::v1::CheckResult& result);

// The same for a whole result, except its id, its check and its node, which identify it. Pure.
void CleanResult(galen::v1::CheckResult& result);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_CLEAN_RESULT_H_
