#ifndef COMMON_METRICS_REGISTRY_H_
#define COMMON_METRICS_REGISTRY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace galen::metrics {

// All that a program can tell in numbers. Who has numbers is a prometheus::Collectable, which is
// asked each time that they are read: it keeps them in whatever form suits it. A
// prometheus::Registry is one, for counters that are counted where things happen. Thread-safe.
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

// For sources that translate numbers which they have already. `labels` are pairs of name and value.
using Labels = std::vector<std::pair<absl::string_view, absl::string_view>>;
struct Sample {
  Labels labels;
  double value = 0;
};
// The name of a counter ends in "_total".
prometheus::MetricFamily CounterFamily(absl::string_view name, absl::string_view help,
                                       const std::vector<Sample>& samples);
prometheus::MetricFamily GaugeFamily(absl::string_view name, absl::string_view help,
                                     const std::vector<Sample>& samples);
prometheus::ClientMetric Labelled(const Labels& labels);

}  // namespace galen::metrics

#endif  // COMMON_METRICS_REGISTRY_H_
