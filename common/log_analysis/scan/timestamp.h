#ifndef COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_
#define COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace galen::log_scan {

// A time as stated in a log line. Logs often omit the zone and the year.
struct TimeStamp {
  absl::CivilSecond civil;  // year 1970 when `has_year` is false
  absl::Duration fraction;  // below a second
  std::optional<absl::Duration> utc_offset;
  bool has_year = true;
};

// Completes the parts that a line omits.
struct TimeContext {
  // Zone of stamps that name none.
  absl::TimeZone zone = absl::UTCTimeZone();
  // A time that the log is about. A stamp without a year gets the year that brings it closest.
  std::optional<absl::Time> near;
  // No line was written later, with a tolerance of one day for wrong clocks. Excludes later years
  // for a stamp without a year.
  std::optional<absl::Time> latest;
};

// The first time stamp near the start of `line`, in one of the forms that programs of the field
// print: ISO 8601 and its variants ("2024-05-01T12:00:00.123Z", "2024-05-01 12:00:00,123",
// "2024/05/01 12:00:00"), syslog ("May  1 12:00:00"), dmesg -T ("Wed May  1 12:00:00 2024"), glog
// and PyTorch ("I0501 12:00:00.123456", "E501 12:00:00.123"), vLLM ("05-01 12:00:00"), and seconds
// or milliseconds since the epoch at the very start. Seconds since boot do not count. Pure.
std::optional<TimeStamp> FindTimeStamp(absl::string_view line);

// The time that `stamp` means; nothing if it lacks a year and `context` does not give it. Pure.
std::optional<absl::Time> Resolve(const TimeStamp& stamp, const TimeContext& context);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_
