#ifndef COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_
#define COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace galen::log_scan {

// A time as a log line states it. Logs leave out the zone, and often the year.
struct TimeStamp {
  absl::CivilSecond civil;  // year 1970 when `has_year` is false
  absl::Duration fraction;  // below a second
  std::optional<absl::Duration> utc_offset;
  bool has_year = true;
};

// Completes what a line leaves out.
struct TimeContext {
  // Zone of stamps that name none.
  absl::TimeZone zone = absl::UTCTimeZone();
  // A moment that the log is about. A stamp without a year gets the year that brings it closest.
  std::optional<absl::Time> near;
  // No line was written later, but for clocks that are a day apart: of a stamp without a year the
  // years after it are none.
  std::optional<absl::Time> latest;
};

// The first time stamp near the start of `line`, in one of the forms that the programs of the field
// print: ISO 8601 and its relatives ("2024-05-01T12:00:00.123Z", "2024-05-01 12:00:00,123",
// "2024/05/01 12:00:00"), syslog ("May  1 12:00:00"), dmesg -T ("Wed May  1 12:00:00 2024"),
// glog and PyTorch ("I0501 12:00:00.123456", "E501 12:00:00.123"), vLLM ("05-01 12:00:00"), and
// seconds or milliseconds since the epoch at the very start. Seconds since boot are no time. Pure.
std::optional<TimeStamp> FindTimeStamp(absl::string_view line);

// The moment that `stamp` means; nothing when it lacks a year and `context` cannot tell it. Pure.
std::optional<absl::Time> Resolve(const TimeStamp& stamp, const TimeContext& context);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_TIMESTAMP_H_
