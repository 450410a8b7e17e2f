#include "common/telemetry/discovery.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/telemetry/selector.h"
#include "common/timeseries/align.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostWarnings = 16;

using Key = std::tuple<std::string, std::string, std::string, std::string>;
Key KeyOf(const Place& place) { return {place.node, place.device, place.port, place.rank}; }

void Take(const Answer& answer, bool& complete, std::vector<std::string>& warnings) {
  complete = complete && answer.complete;
  warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
}

// Makes rows of the series of a quantity.
class Collector {
 public:
  Collector(const Quantity& quantity, const timeseries::Grid& grid, absl::Duration most_age,
            const std::function<bool(const Place&)>& wanted)
      : most_age_(most_age), wanted_(wanted), measured_{&quantity, grid,
                                                        {},        timeseries::Panel(0, grid.size),
                                                        {},        true,
                                                        {}} {}

  void Add(const MetricOf& of, const Rules& rules, Answer answer) {
    measured_.complete = measured_.complete && answer.complete;
    if (answer.series.empty() && answer.complete) return;
    const Family* const family = rules.FamilyOf(of.metric);
    for (TimeSeries& series : answer.series) {
      const Place place = rules.PlaceOf(series.labels);
      if (wanted_ != nullptr && !wanted_(place)) continue;
      if (family != nullptr) family->Forget(series);
      std::string metric = of.metric;
      if (!Convert(of, series, metric)) continue;
      Put(place, metric, of.counter.value_or(measured_.quantity->counter), series);
    }
    for (TimeSeries& series : answer.series) series.samples.clear();
    measured_.answers.push_back(std::move(answer));
  }

  Measured Take() && {
    measured_.values = timeseries::Panel(values_.size(), measured_.grid.size);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::copy(values_[i].values.begin(), values_[i].values.end(),
                measured_.values.Row(i).begin());
    }
    return std::move(measured_);
  }

 private:
  // Into the quantity's unit. False: the series says nothing.
  static bool Convert(const MetricOf& of, TimeSeries& series, std::string& metric) {
    double code = 0;
    if (!of.value_of.empty()) {
      const auto label = series.labels.find(of.value_of);
      if (label == series.labels.end() || !absl::SimpleAtod(label->second, &code)) return false;
      absl::StrAppend(&metric, "{", of.value_of, "=\"", label->second, "\"}");
    }
    for (timeseries::Sample& sample : series.samples) {
      if (!timeseries::IsKnown(static_cast<float>(sample.value))) continue;
      if (of.mask != 0) {
        const bool whole = sample.value >= 0 && sample.value < 9e15;
        sample.value = !whole ? timeseries::kUnknown
                       : (static_cast<std::uint64_t>(sample.value) & of.mask) != 0 ? 1
                                                                                   : 0;
      }
      if (!of.value_of.empty()) sample.value = sample.value > 0 ? code : 0;
      sample.value *= of.scale;
    }
    return true;
  }

  // Two series of one place are one (an exporter that came back under another name of its pod, two
  // exporters of one fact): where one is unknown the other one speaks.
  void Put(const Place& place, const std::string& metric, bool counter, TimeSeries& series) {
    const timeseries::Grid& grid = measured_.grid;
    timeseries::Series on_grid =
        counter ? timeseries::RateOf(series.samples, grid, {.most_gap = most_age_}).per_second
                : timeseries::Align(series.samples, grid, {.most_age = most_age_});
    const bool singly = measured_.quantity->among == Among::kSingly;
    const auto [at, added] =
        rows_.try_emplace({KeyOf(place), singly ? metric : std::string()}, values_.size());
    if (added) {
      measured_.rows.push_back({place, metric});
      values_.push_back(std::move(on_grid));
      return;
    }
    std::vector<float>& row = values_[at->second].values;
    bool disagree = false;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const float other = on_grid.values[i];
      if (!timeseries::IsKnown(row[i])) {
        row[i] = other;
      } else {
        disagree = disagree || (timeseries::IsKnown(other) && other != row[i]);
      }
    }
    if (disagree && measured_.rows[at->second].metric == metric &&
        measured_.warnings.size() < kMostWarnings) {
      measured_.warnings.push_back(absl::StrCat("more than one series is of the place of ",
                                                ShowLabels(series.labels),
                                                ", and they differ; the first one counts"));
    }
  }

  const absl::Duration most_age_;
  const std::function<bool(const Place&)>& wanted_;
  Measured measured_;
  std::map<std::pair<Key, std::string>, std::size_t> rows_;
  std::vector<timeseries::Series> values_;
};

}  // namespace

absl::StatusOr<Inventory> Discover(Source& source, const Rules& rules, absl::Time start,
                                   absl::Time end, const std::vector<std::string>& expected,
                                   const Call& call) {
  Inventory inventory;
  inventory.source = source.name();
  bool complete = true;
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         source.LabelValues(kMetricName, "", start, end, call, &complete));
  if (!complete) {
    inventory.complete = false;
    inventory.warnings.push_back("not all names of metrics came");
  }
  std::map<const Family*, std::vector<std::string>> metrics;
  for (const std::string& name : names) {
    const Family* const family = rules.FamilyOf(name);
    (family == nullptr ? inventory.other : metrics[family]).push_back(name);
  }
  std::set<std::string> seen;
  for (const Family& family : rules.families) {
    const auto found = metrics.find(&family);
    if (found == metrics.end()) {
      inventory.absent.push_back(family.name);
      continue;
    }
    // A metric that says least of devices that come and go, and most of nodes: any. The first one
    // does.
    const std::string selector =
        absl::StrCat("{", kMetricName, "=", Quote(found->second.front()), "}");
    GALEN_ASSIGN_OR_RETURN(const Answer answer, source.SeriesOf(selector, start, end, call));
    Take(answer, inventory.complete, inventory.warnings);
    std::set<std::string> nodes;
    std::set<Key> devices;
    for (const TimeSeries& series : answer.series) {
      const Place place = family.PlaceOf(series.labels);
      if (!place.node.empty()) nodes.insert(place.node);
      devices.insert(KeyOf(place));
    }
    // A family about exporters shows that a machine was scraped, not that it has data.
    if (family.device != "exporter") seen.insert(nodes.begin(), nodes.end());
    inventory.families.push_back({family.name, std::move(found->second),
                                  std::vector<std::string>(nodes.begin(), nodes.end()),
                                  devices.size()});
  }
  for (const std::string& node : expected) {
    if (seen.count(node) == 0) inventory.missing_nodes.push_back(node);
  }
  return inventory;
}

absl::StatusOr<Measured> Measure(Source& source, const Rules& rules, const std::string& name,
                                 const Range& range, absl::Duration most_age, const Call& call,
                                 const std::function<bool(const Place&)>& wanted) {
  const Quantity* const quantity = rules.Find(name);
  if (quantity == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no quantity of telemetry/sources.yaml"));
  GALEN_RETURN_IF_ERROR(CheckRange(range, call.limits));
  GALEN_ASSIGN_OR_RETURN(const timeseries::Grid grid,
                         timeseries::MakeGrid(range.start, range.end, range.step));
  // The growth of a counter within a step needs samples on both sides of it: of a counter that is
  // scraped once a minute at second 15, the samples inside cover a quarter of the minute.
  const bool counter = quantity->counter ||
                       std::any_of(quantity->metrics.begin(), quantity->metrics.end(),
                                   [](const MetricOf& of) { return of.counter.value_or(false); });
  const absl::Duration before = counter ? range.step + most_age : std::max(most_age, range.step);
  const absl::Duration after = counter ? most_age : absl::ZeroDuration();
  constexpr char kJobLogs[] = "job_log_";
  Collector collector(*quantity, grid, most_age, wanted);
  bool any = false;
  for (const MetricOf& of : quantity->metrics) {
    if (any && quantity->among == Among::kFirst) break;
    if (!source.has_job_logs() && absl::StartsWith(of.metric, kJobLogs)) continue;
    GALEN_ASSIGN_OR_RETURN(Answer answer,
                           source.Samples(absl::StrCat(of.metric, of.where), range.start - before,
                                          range.end + after, call));
    any = any || !answer.series.empty();
    collector.Add(of, rules, std::move(answer));
  }
  Measured measured = std::move(collector).Take();
  if (any) return measured;
  return absl::NotFoundError(absl::StrCat(source.name(), ": no series of ", name, " between ",
                                          absl::FormatTime(range.start, absl::UTCTimeZone()),
                                          " and ", absl::FormatTime(range.end, absl::UTCTimeZone()),
                                          measured.complete ? "" : " (the answer is incomplete)"));
}

void TakeHighest(Measured& measured) {
  if (measured.quantity->among != Among::kSingly) return;
  std::map<Key, std::size_t> places;
  std::vector<Measured::Row> rows;
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    const absl::Span<const float> row = measured.values.Row(i);
    const auto [at, added] = places.try_emplace(KeyOf(measured.rows[i].place), rows.size());
    if (added) {
      rows.push_back(measured.rows[i]);
      values.emplace_back(row.begin(), row.end());
      continue;
    }
    std::vector<float>& highest = values[at->second];
    for (std::size_t t = 0; t < highest.size(); ++t) {
      if (timeseries::IsKnown(row[t]) && !(row[t] <= highest[t])) highest[t] = row[t];
    }
  }
  measured.rows = std::move(rows);
  measured.values = timeseries::Panel(values.size(), measured.grid.size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::copy(values[i].begin(), values[i].end(), measured.values.Row(i).begin());
  }
}

}  // namespace galen::telemetry
