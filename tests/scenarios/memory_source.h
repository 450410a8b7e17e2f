#ifndef TESTS_SCENARIOS_MEMORY_SOURCE_H_
#define TESTS_SCENARIOS_MEMORY_SOURCE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/telemetry/source.h"

namespace galen::scenarios {

// Series in memory, as a source that answers selectors, by the rules of a Prometheus: limits, the
// call's end, and five minutes that a sample speaks for in Instant and RangeOf. Immutable and
// thread-safe.
class MemorySource final : public telemetry::Source {
 public:
  MemorySource(std::string name, std::vector<telemetry::TimeSeries> series);

  std::string name() const override { return name_; }
  bool evaluates() const override { return false; }
  absl::StatusOr<telemetry::Answer> Instant(const std::string& query, absl::Time at,
                                            const telemetry::Call& call) override;
  absl::StatusOr<telemetry::Answer> RangeOf(const std::string& query, const telemetry::Range& range,
                                            const telemetry::Call& call) override;
  absl::StatusOr<telemetry::Answer> Samples(const std::string& selector, absl::Time start,
                                            absl::Time end, const telemetry::Call& call) override;
  absl::StatusOr<telemetry::Answer> SeriesOf(const std::string& selector, absl::Time start,
                                             absl::Time end, const telemetry::Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const telemetry::Call& call,
                                                       bool* complete) override;

  const std::vector<telemetry::TimeSeries>& series() const { return series_; }

 private:
  // Adds what of a series belongs into the answer; nothing: the series does not count.
  using Each = std::function<void(const telemetry::TimeSeries& series, telemetry::Answer& answer)>;
  absl::StatusOr<telemetry::Answer> Over(const std::string& selector, absl::Time start,
                                         absl::Time end, const telemetry::Call& call,
                                         const Each& each) const;

  const std::string name_;
  std::vector<telemetry::TimeSeries> series_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_metric_;
};

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_MEMORY_SOURCE_H_
