#ifndef COMMON_TELEMETRY_OPEN_METRICS_SOURCE_H_
#define COMMON_TELEMETRY_OPEN_METRICS_SOURCE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/bundle_files.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

struct FileLimits {
  std::size_t files = 1000;
  std::size_t bytes = std::size_t{1} << 30;  // of text, of all files together
  std::size_t series = 100'000;
  std::size_t samples = 10'000'000;  // 160 MB
  std::size_t label_bytes = std::size_t{256} << 20;
};

// The files telemetry/*.om of a bundle. Answers selectors alone: for a rate, read the counters and
// use timeseries::RateOf. Data that exceeds the limits, or is damaged, makes every answer
// incomplete, with a warning. Immutable and thread-safe.
class OpenMetricsSource final : public Source {
 public:
  // `at`: when samples without a time were taken (the bundle's captured_at); nothing: they are left
  // out, with a warning. Only CANCELLED and DEADLINE_EXCEEDED of `call` are errors, and a folder
  // telemetry/ that may not be read; NOT_FOUND: there is none, or nothing in it.
  static absl::StatusOr<std::unique_ptr<OpenMetricsSource>> Open(const host::BundleFiles& bundle,
                                                                 std::optional<absl::Time> at,
                                                                 const FileLimits& limits,
                                                                 const Call& call);
  // One text, for tests and fuzzers.
  static std::unique_ptr<OpenMetricsSource> OfText(const std::string& name, absl::string_view text,
                                                   std::optional<absl::Time> at,
                                                   const FileLimits& limits);

  std::string name() const override { return name_; }
  bool evaluates() const override { return false; }
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                 const Call& call) override;
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                 const Call& call) override;
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start, absl::Time end,
                                 const Call& call) override;
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start, absl::Time end,
                                  const Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const Call& call, bool* complete) override;

  // The first and the last sample. Nothing: there are none.
  struct Span {
    absl::Time first;
    absl::Time last;
  };
  std::optional<Span> span() const;

 private:
  class Loader;
  explicit OpenMetricsSource(std::string name) : name_(std::move(name)) {}

  using Each = std::function<absl::Status(const TimeSeries& series, Answer& answer)>;
  // Calls `each` for the series that match.
  absl::StatusOr<Answer> Over(const std::string& selector, const Call& call,
                              const Each& each) const;

  const std::string name_;
  std::vector<TimeSeries> series_;
  std::vector<std::string> faults_;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_OPEN_METRICS_SOURCE_H_
