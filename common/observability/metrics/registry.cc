#include "common/observability/metrics/registry.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "prometheus/text_serializer.h"

namespace galen::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Function final : public prometheus::Collectable {
 public:
  explicit Function(std::function<std::vector<MetricFamily>()> collect)
      : collect_(std::move(collect)) {}
  std::vector<MetricFamily> Collect() const override { return collect_(); }

 private:
  const std::function<std::vector<MetricFamily>()> collect_;
};

ClientMetric& AddSeries(MetricFamily& family, const Labels& labels) {
  ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [name, value] : labels) {
    metric.label.push_back({std::string(name), std::string(value)});
  }
  return metric;
}

}  // namespace

void Registry::Add(std::shared_ptr<const prometheus::Collectable> source) {
  const MutexLock lock(mu_);
  sources_.push_back(std::move(source));
}

std::string Registry::Text() const {
  std::vector<std::shared_ptr<const prometheus::Collectable>> sources;
  {
    const MutexLock lock(mu_);
    sources = sources_;
  }
  std::map<std::string, MetricFamily> families;
  for (const auto& source : sources) {
    for (MetricFamily& family : source->Collect()) {
      const auto [it, fresh] = families.try_emplace(family.name, MetricFamily());
      if (fresh) {
        it->second = std::move(family);
      } else {
        it->second.metric.insert(it->second.metric.end(),
                                 std::make_move_iterator(family.metric.begin()),
                                 std::make_move_iterator(family.metric.end()));
      }
    }
  }
  std::vector<MetricFamily> in_order;
  in_order.reserve(families.size());
  for (auto& [name, family] : families) in_order.push_back(std::move(family));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, in_order);
  return text.str();
}

std::shared_ptr<const prometheus::Collectable> SourceOf(
    std::function<std::vector<MetricFamily>()> collect) {
  return std::make_shared<const Function>(std::move(collect));
}

MetricFamily FamilyOf(const Description& description) {
  MetricFamily family;
  family.name = std::string(description.name);
  family.help = std::string(description.help);
  family.type = description.type;
  return family;
}

void AddTo(MetricFamily& family, const Labels& labels, double value) {
  ClientMetric& metric = AddSeries(family, labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddTo(MetricFamily& family, const Labels& labels, const Distribution& times) {
  ClientMetric& metric = AddSeries(family, labels);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < times.counts.size(); ++i) {
    count += times.counts[i];
    metric.histogram.bucket.push_back({count, i < times.bounds.size()
                                                  ? times.bounds[i]
                                                  : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = times.seconds;
}

MetricFamily FamilyWith(const Description& description, const std::vector<Sample>& samples) {
  MetricFamily family = FamilyOf(description);
  for (const Sample& sample : samples) AddTo(family, sample.labels, sample.value);
  return family;
}

}  // namespace galen::metrics
