#include "common/telemetry/discovery.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/series/align.h"
#include "common/telemetry/selector.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostWarnings = 16;

using Key = std::tuple<std::string, std::string, std::string, std::string>;
Key KeyOf(const Place& place) { return {place.node, place.device, place.port, place.rank}; }

void Take(const Answer& answer, bool& complete, std::vector<std::string>& warnings) {
  complete = complete && answer.complete;
  warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
}

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
    // That a machine was asked is no word of the machine.
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
  GALEN_ASSIGN_OR_RETURN(const series::Grid grid,
                         series::MakeGrid(range.start, range.end, range.step));
  // What a counter grew by in a step is known from samples on both sides of it: of one that is read
  // a minute at second 15, those inside tell of a quarter of the minute.
  const absl::Duration before =
      quantity->counter ? range.step + most_age : std::max(most_age, range.step);
  const absl::Duration after = quantity->counter ? most_age : absl::ZeroDuration();
  bool complete = true;
  for (const MetricOf& of : quantity->metrics) {
    const std::string selector = absl::StrCat(of.metric, of.where);
    GALEN_ASSIGN_OR_RETURN(Answer answer,
                           source.Samples(selector, range.start - before, range.end + after, call));
    complete = complete && answer.complete;
    if (answer.series.empty()) continue;
    const Family* const family = rules.FamilyOf(of.metric);
    std::map<Key, std::size_t> rows;
    std::vector<series::Series> values;
    Measured measured{quantity, grid, {}, series::Panel(0, grid.size), {}, complete, {}};
    for (TimeSeries& series : answer.series) {
      const Place place = family == nullptr ? Place{} : family->PlaceOf(series.labels);
      if (wanted != nullptr && !wanted(place)) continue;
      if (family != nullptr) family->Forget(series);
      for (series::Sample& sample : series.samples) sample.value *= of.scale;
      series::Series on_grid =
          quantity->counter
              ? series::RateOf(series.samples, grid, {.most_gap = most_age}).per_second
              : series::Align(series.samples, grid, {.most_age = most_age});
      // Two series of one place (an exporter that came back under another name of its pod) are one:
      // where one is unknown the other one speaks.
      const auto [at, added] = rows.try_emplace(KeyOf(place), values.size());
      if (added) {
        measured.rows.push_back({place, of.metric});
        values.push_back(std::move(on_grid));
        continue;
      }
      std::vector<float>& row = values[at->second].values;
      bool disagree = false;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const float other = on_grid.values[i];
        if (!series::IsKnown(row[i])) {
          row[i] = other;
        } else {
          disagree = disagree || (series::IsKnown(other) && other != row[i]);
        }
      }
      if (disagree && measured.warnings.size() < kMostWarnings) {
        measured.warnings.push_back(absl::StrCat("more than one series is of the place of ",
                                                 ShowLabels(series.labels),
                                                 ", and they differ; the first one counts"));
      }
    }
    measured.values = series::Panel(values.size(), grid.size);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::copy(values[i].values.begin(), values[i].values.end(), measured.values.Row(i).begin());
    }
    for (TimeSeries& series : answer.series) series.samples.clear();
    measured.answers.push_back(std::move(answer));
    return measured;
  }
  return absl::NotFoundError(absl::StrCat(source.name(), ": no series of ", name, " between ",
                                          absl::FormatTime(range.start, absl::UTCTimeZone()),
                                          " and ", absl::FormatTime(range.end, absl::UTCTimeZone()),
                                          complete ? "" : " (the answer is incomplete)"));
}

}  // namespace galen::telemetry
