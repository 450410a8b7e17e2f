#include "services/execution/playbook/rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/timeseries/robust.h"

namespace galen::playbook {
namespace {

bool KnownAtAll(absl::Span<const float> row) {
  return std::any_of(row.begin(), row.end(), timeseries::IsKnown);
}

float Combined(std::vector<float>& values, Combine combine) {
  const bool all = combine == Combine::kSum || combine == Combine::kMean;
  if (all) {
    double sum = 0;
    for (const float value : values) {
      if (!timeseries::IsKnown(value)) return timeseries::kUnknown;
      sum += static_cast<double>(value);
    }
    if (values.empty()) return timeseries::kUnknown;
    return static_cast<float>(combine == Combine::kSum ? sum
                                                       : sum / static_cast<double>(values.size()));
  }
  if (combine == Combine::kHighest) return timeseries::Quantile(values, 1);
  if (combine == Combine::kLowest) return timeseries::Quantile(values, 0);
  return timeseries::Median(values);
}

}  // namespace

std::vector<Rows> Singly(const Rows& rows) {
  if (rows.metrics.size() != rows.places.size() || rows.metrics.empty()) return {rows};
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> of_metric;
  for (std::size_t i = 0; i < rows.metrics.size(); ++i) {
    std::vector<std::size_t>& of = of_metric[rows.metrics[i]];
    if (of.empty()) order.push_back(rows.metrics[i]);
    of.push_back(i);
  }
  std::vector<Rows> singly;
  for (const std::string& metric : order) {
    const std::vector<std::size_t>& of = of_metric[metric];
    Rows one{metric, rows.unit, rows.counter, rows.grid, {}, {0, 0}, {}};
    one.values = timeseries::Panel(of.size(), rows.grid.size);
    for (std::size_t i = 0; i < of.size(); ++i) {
      one.places.push_back(rows.places[of[i]]);
      std::copy(rows.values.Row(of[i]).begin(), rows.values.Row(of[i]).end(),
                one.values.Row(i).begin());
    }
    singly.push_back(std::move(one));
  }
  return singly;
}

Rows Together(const Rows& rows, Over over, Combine combine) {
  if (over == Over::kDevice) return rows;
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const std::string& node = rows.places[i].node;
    if (over == Over::kNode && node.empty()) continue;
    std::vector<std::size_t>& of = members[over == Over::kNode ? node : std::string()];
    if (KnownAtAll(rows.values.Row(i))) of.push_back(i);
  }
  Rows out{rows.name, rows.unit, rows.counter, rows.grid, {}, {0, 0}, {}};
  out.values = timeseries::Panel(members.size(), rows.grid.size);
  std::vector<float> column;
  for (const auto& [node, of] : members) {
    const auto row = out.values.Row(out.places.size());
    for (std::size_t t = 0; t < rows.grid.size; ++t) {
      column.clear();
      for (const std::size_t i : of) column.push_back(rows.values.Row(i)[t]);
      row[t] = Combined(column, combine);
    }
    out.places.push_back({.node = node});
  }
  return out;
}

std::vector<float> MedianOf(const Rows& rows) {
  std::vector<float> medians(rows.grid.size, timeseries::kUnknown);
  std::vector<float> column(rows.places.size());
  for (std::size_t t = 0; t < medians.size(); ++t) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows.values.Row(i)[t];
    medians[t] = timeseries::Median(column);
  }
  return medians;
}

int RowOf(const Rows& rows, const telemetry::Place& place) {
  int of_node = -1;
  int many = 0;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& other = rows.places[i];
    if (other.node != place.node) continue;
    if (other.device == place.device) return static_cast<int>(i);
    of_node = static_cast<int>(i);
    ++many;
  }
  return many == 1 ? of_node : -1;
}

std::string Shown(const telemetry::Place& place) {
  std::string shown = place.node.empty() ? "the job" : place.node;
  if (!place.device.empty()) absl::StrAppend(&shown, " ", place.device);
  if (!place.port.empty()) absl::StrAppend(&shown, "/", place.port);
  if (!place.rank.empty()) absl::StrAppend(&shown, " rank ", place.rank);
  return shown;
}

}  // namespace galen::playbook
