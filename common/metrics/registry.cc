#include "common/metrics/registry.h"

#include <iterator>
#include <map>
#include <sstream>

#include "prometheus/text_serializer.h"

namespace galen::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(absl::string_view name, absl::string_view help, MetricType type) {
  MetricFamily family;
  family.name = std::string(name);
  family.help = std::string(help);
  family.type = type;
  return family;
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

ClientMetric Labelled(const Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) {
    metric.label.push_back({std::string(name), std::string(value)});
  }
  return metric;
}

MetricFamily CounterFamily(absl::string_view name, absl::string_view help,
                           const std::vector<Sample>& samples) {
  MetricFamily family = Family(name, help, MetricType::Counter);
  for (const Sample& sample : samples) {
    family.metric.push_back(Labelled(sample.labels));
    family.metric.back().counter.value = sample.value;
  }
  return family;
}

MetricFamily GaugeFamily(absl::string_view name, absl::string_view help,
                         const std::vector<Sample>& samples) {
  MetricFamily family = Family(name, help, MetricType::Gauge);
  for (const Sample& sample : samples) {
    family.metric.push_back(Labelled(sample.labels));
    family.metric.back().gauge.value = sample.value;
  }
  return family;
}

}  // namespace galen::metrics
