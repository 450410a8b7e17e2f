#ifndef COMMON_OBSERVABILITY_METRICS_REGISTRY_H_
#define COMMON_OBSERVABILITY_METRICS_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/numbers.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace galen::metrics {

// All metrics of a program. A source is a prometheus::Collectable, which is asked each time that
// the metrics are read and keeps them in whatever form suits it. A prometheus::Registry is one, for
// counters that are incremented in place. Thread-safe.
class Registry {
 public:
  // `source` may be asked on any thread, and by several at a time.
  void Add(std::shared_ptr<const prometheus::Collectable> source);

  // Everything in Prometheus' text format 0.0.4, families by name. Families of the same name from
  // several sources become one.
  std::string Text() const;

 private:
  mutable Mutex mu_;
  std::vector<std::shared_ptr<const prometheus::Collectable>> sources_ ABSL_GUARDED_BY(mu_);
};

// A source that is a function: it is called each time that the numbers are read, on any thread.
std::shared_ptr<const prometheus::Collectable> SourceOf(
    std::function<std::vector<prometheus::MetricFamily>()> collect);

// For sources that translate numbers which they have already. `labels` are pairs of name and value.
using Labels = std::vector<std::pair<absl::string_view, absl::string_view>>;
struct Sample {
  Labels labels;
  double value = 0;
};
// The family of a description, without a series yet.
prometheus::MetricFamily FamilyOf(const Description& description);
// One more series: of a counter or gauge, and of a histogram.
void AddTo(prometheus::MetricFamily& family, const Labels& labels, double value);
void AddTo(prometheus::MetricFamily& family, const Labels& labels, const Distribution& times);
// Both at once, of a counter or a gauge.
prometheus::MetricFamily FamilyWith(const Description& description,
                                    const std::vector<Sample>& samples);

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_REGISTRY_H_
