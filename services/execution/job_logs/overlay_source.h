#ifndef SERVICES_EXECUTION_JOB_LOGS_OVERLAY_SOURCE_H_
#define SERVICES_EXECUTION_JOB_LOGS_OVERLAY_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "common/telemetry/source.h"

namespace galen::job_logs {

// A source with some series more, whose names (job_log_*) no other one uses.
class OverlaySource final : public telemetry::Source {
 public:
  OverlaySource(std::shared_ptr<telemetry::Source> base, std::vector<telemetry::TimeSeries> more);

  std::string name() const override { return base_->name(); }
  bool evaluates() const override { return base_->evaluates(); }
  bool has_job_logs() const override { return true; }
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

 private:
  absl::StatusOr<telemetry::Answer> Own(const std::string& selector, absl::Time start,
                                        absl::Time end, bool samples) const;

  const std::shared_ptr<telemetry::Source> base_;
  const std::vector<telemetry::TimeSeries> more_;
};

}  // namespace galen::job_logs

#endif  // SERVICES_EXECUTION_JOB_LOGS_OVERLAY_SOURCE_H_
