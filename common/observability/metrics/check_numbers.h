#ifndef COMMON_OBSERVABILITY_METRICS_CHECK_NUMBERS_H_
#define COMMON_OBSERVABILITY_METRICS_CHECK_NUMBERS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/numbers.h"
#include "prometheus/metric_family.h"

namespace galen::metrics {

// Results of checks by check and status, and how long the checks ran. The first 512 checks have
// numbers of their own: a site has fewer. Thread-safe.
class CheckNumbers {
 public:
  // The places of statuses, which are those of galen.v1.CheckResult.Status.
  static constexpr std::array<absl::string_view, 5> kStatuses = {"", "PASS", "FAIL", "SKIPPED",
                                                                 "ERROR"};

  // Ignores a number that is not a status of a result.
  void CountResult(absl::string_view check, int status);
  void CountTime(absl::string_view check, absl::Duration ran);

  prometheus::MetricFamily Results(const Description& description) const;
  prometheus::MetricFamily Times(const Description& description) const;

 private:
  static constexpr std::size_t kMostChecks = 512;
  static constexpr std::array<double, 9> kBounds = {0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600};
  struct OfCheck {
    std::array<Counter, kStatuses.size()> results;
    metrics::Times<kBounds.size()> times{kBounds};
    Counter timed;
  };
  ByValue<OfCheck> checks_{kMostChecks};
};

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_CHECK_NUMBERS_H_
