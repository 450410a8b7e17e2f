#include "common/curation/statistics.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"

namespace galen::curation {
namespace {

std::string MainOf(const std::string& label) { return label.substr(0, label.find('.')); }

// A history of ten centuries is a typo: its months are not listed one by one.
constexpr int kMaxMonths = 1200;

std::string Next(const std::string& month) {
  absl::CivilMonth parsed;
  if (!absl::ParseCivilTime(month, &parsed)) return "";
  return absl::FormatCivilTime(parsed + 1);
}

}  // namespace

Statistics StatisticsOf(const knowledge::v1::KnowledgeBase& base) {
  Statistics statistics;
  statistics.total.name = "total";
  std::map<std::string, std::size_t> place;
  std::map<std::string, std::string> first_day;  // of each leaf; "" unknown
  for (const auto& label : base.labels()) {
    if (label.parent().empty()) {
      place.emplace(label.label(), statistics.categories.size());
      statistics.categories.push_back({label.label(), 0, 0, 0});
    }
  }
  for (const auto& label : base.labels()) {
    if (!label.children().empty() || label.parent().empty()) continue;
    const auto category = place.find(MainOf(label.label()));
    if (category != place.end()) ++statistics.categories[category->second].labels;
    ++statistics.total.labels;
    first_day.emplace(label.label(), label.added());
  }
  std::map<std::string, MonthStatistics> months;
  std::map<std::string, std::set<std::string>> types;
  std::map<std::string, std::string> first_incident;
  for (const auto& incident : base.incidents()) {
    const auto category = place.find(MainOf(incident.label()));
    if (category == place.end()) continue;
    ++statistics.categories[category->second].incidents;
    ++statistics.total.incidents;
    types[category->first].insert(incident.label());
    if (incident.date().empty()) {
      ++statistics.undated_incidents;
      continue;
    }
    ++months[incident.date().substr(0, 7)].incidents;
    std::string& first = first_incident[incident.label()];
    if (first.empty() || incident.date() < first) first = incident.date();
  }
  for (auto& [label, day] : first_day) {
    if (day.empty()) day = first_incident[label];
    if (day.empty()) {
      ++statistics.undated_labels;
    } else {
      months[day.substr(0, 7)].new_labels.push_back(label);
    }
  }
  for (const auto& [category, labels] : types) {
    statistics.categories[place[category]].fault_types = static_cast<int>(labels.size());
    statistics.total.fault_types += static_cast<int>(labels.size());
  }
  std::string expected;
  for (auto& [month, each] : months) {
    for (int missing = 0; !expected.empty() && expected < month && missing < kMaxMonths;
         ++missing) {
      statistics.months.push_back({expected, 0, {}});
      expected = Next(expected);
    }
    each.month = month;
    statistics.months.push_back(std::move(each));
    expected = Next(month);
  }
  return statistics;
}

}  // namespace galen::curation
