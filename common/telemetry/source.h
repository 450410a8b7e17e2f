#ifndef COMMON_TELEMETRY_SOURCE_H_
#define COMMON_TELEMETRY_SOURCE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/timeseries/grid.h"

namespace galen::telemetry {

// Names and values, the metric's own name as "__name__".
using Labels = std::map<std::string, std::string, std::less<>>;
inline constexpr char kMetricName[] = "__name__";
// A label that no exporter writes: the one name of the machine that a series is of, where the names
// that its exporter uses were found to be another's (named_source.h). It counts before all others.
inline constexpr char kMachine[] = "__machine__";

// "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",instance=\"n1\"}", cleaned and cut: for people.
std::string ShowLabels(const Labels& labels);

// Limits of one answer. More is cut, and Answer::complete says so.
struct Limits {
  std::size_t series = 20'000;
  std::size_t samples = 4'000'000;  // of all series together: 64 MB
  std::size_t bytes = 64 << 20;     // of an answer on its way
  std::size_t points = 11'000;      // of one series of a range: Prometheus' own limit
};

// Options of one call.
struct Call {
  absl::Time deadline = absl::InfiniteFuture();  // on SteadyNow()'s scale
  const Cancellation* cancellation = nullptr;
  Limits limits;
};

struct TimeSeries {
  Labels labels;
  std::vector<timeseries::Sample> samples;  // in order of time
};

// A query, its time range and its result. A conclusion cites it.
struct Answer {
  std::string source;  // "Prometheus http://127.0.0.1:9090"
  std::string query;
  absl::Time start = absl::InfinitePast();
  absl::Time end = absl::InfinitePast();
  absl::Duration step;  // 0: of an instant

  std::vector<TimeSeries> series;
  // False: something is missing, or may be. `warnings` say what, and a conclusion from absence is
  // not allowed.
  bool complete = true;
  std::vector<std::string> warnings;  // cleaned and cut; at most 16

  void Warn(absl::string_view warning);
  void Incomplete(absl::string_view why);
};

// A value at a time, or why it is unknown. An unknown value cannot be read as a number.
class Reading {
 public:
  static Reading Of(double value, absl::Time at) { return Reading(value, at, {}); }
  static Reading Unknown(std::string why) {
    return Reading(std::nullopt, absl::InfinitePast(), std::move(why));
  }

  bool known() const { return value_.has_value(); }
  // Nothing when it is unknown.
  const std::optional<double>& value() const { return value_; }
  absl::Time at() const { return at_; }
  const std::string& why() const { return why_; }

 private:
  Reading(std::optional<double> value, absl::Time at, std::string why)
      : value_(value), at_(at), why_(std::move(why)) {}

  std::optional<double> value_;
  absl::Time at_;
  std::string why_;
};

// The last value of the one series of `answer` whose labels include `labels`. Unknown: no such
// series, more than one, the last sample lies more than `most_age` before `now`, or it is not a
// number.
Reading Last(const Answer& answer, const Labels& labels, absl::Time now, absl::Duration most_age);

struct Range {
  absl::Time start;
  absl::Time end;
  absl::Duration step;
};

// INVALID_ARGUMENT: the range is not a valid axis, or has more points than allowed.
absl::Status CheckRange(const Range& range, const Limits& limits);

// A source of time series. Thread-safe; a call blocks its thread until its deadline or cancellation
// at most, and returns no more than its limits allow.
//
// Errors of every method: INVALID_ARGUMENT the query is wrong; DEADLINE_EXCEEDED; CANCELLED;
// UNAVAILABLE the source cannot be reached, or cannot answer now; RESOURCE_EXHAUSTED the answer
// would be too large; PERMISSION_DENIED access is refused; DATA_LOSS the answer is corrupt;
// UNIMPLEMENTED the source cannot evaluate the query.
//
// An answer without a series says that the source has none, which is not zero.
class Source {
 public:
  virtual ~Source() = default;

  // For messages and evidence.
  virtual std::string name() const = 0;
  // Whether it evaluates all of PromQL, or selectors (name{label="value"}) alone.
  virtual bool evaluates() const = 0;
  // Whether it has series from the logs and files of a job (job_log_*). No exporter has any, so
  // others are not asked for them.
  virtual bool has_job_logs() const { return false; }

  virtual absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                         const Call& call) = 0;
  virtual absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                         const Call& call) = 0;
  // All samples of the series that match a selector between two times, with their own times.
  // (RangeOf repeats a sample for minutes as though it were fresh: after an exporter dies it
  // returns a constant, and for its counters a rate of zero. Samples do not have this fault.)
  virtual absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start,
                                         absl::Time end, const Call& call) = 0;
  // The series that match a selector and have samples between the two times; without samples.
  virtual absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start,
                                          absl::Time end, const Call& call) = 0;
  // The values of a label, sorted. `selector` "": of all series. `complete` (may be null) as in
  // Answer.
  virtual absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                               const std::string& selector,
                                                               absl::Time start, absl::Time end,
                                                               const Call& call,
                                                               bool* complete) = 0;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_SOURCE_H_
