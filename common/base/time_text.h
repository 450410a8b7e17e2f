#ifndef COMMON_BASE_TIME_TEXT_H_
#define COMMON_BASE_TIME_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace galen {

// RFC 3339 in UTC, "2026-01-31T12:00:00.250Z", with `digits` of the fraction of a second.
std::string TimeText(absl::Time time, int digits = 0);

}  // namespace galen

#endif  // COMMON_BASE_TIME_TEXT_H_
