#ifndef COMMON_TELEMETRY_OPEN_METRICS_H_
#define COMMON_TELEMETRY_OPEN_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

// A line of a text format of metrics.
struct MetricLine {
  Labels labels;  // with the metric's name
  double value = 0;
  std::optional<std::int64_t> at;  // milliseconds since 1970
};

// Reads `name{label="value",...} value [time] [# exemplar]`. Times above 1e11 are milliseconds, as
// in Prometheus' older format; others are seconds, as in OpenMetrics. An exemplar is skipped.
// INVALID_ARGUMENT.
absl::StatusOr<MetricLine> ParseMetricLine(absl::string_view line);

// Reads a file of such lines in pieces of any size, and keeps no more than a line. Invalid lines
// are counted and skipped: one damaged line does not hide all others.
class OpenMetricsReader {
 public:
  using Sink = absl::FunctionRef<absl::Status(MetricLine line)>;

  // An error of `sink` ends the reading, and is returned.
  absl::Status Take(absl::string_view bytes, Sink sink);
  // The file is over.
  absl::Status Finish(Sink sink);

  std::size_t lines() const { return lines_; }
  std::size_t damaged() const { return damaged_; }
  // "line 17: what", of the first damaged one.
  const std::string& first_damage() const { return first_damage_; }
  // "# EOF" was seen, which an OpenMetrics file that is whole ends with.
  bool whole() const { return whole_; }

 private:
  absl::Status Line(absl::string_view line, Sink sink);
  void Damage(absl::string_view what);

  std::string rest_;
  bool too_long_ = false;  // the line that `rest_` begins
  std::size_t lines_ = 0;
  std::size_t damaged_ = 0;
  std::string first_damage_;
  bool whole_ = false;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_OPEN_METRICS_H_
