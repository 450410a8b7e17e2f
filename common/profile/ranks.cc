#include "common/profile/ranks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/timeseries/robust.h"

namespace galen::profile {
namespace {

// Iglewicz and Hoaglin take 3.5 robust spreads; a difference of less than a twentieth is ignored.
constexpr double kLeastScore = 3.5;
constexpr double kLeastShare = 0.05;
constexpr std::size_t kLeastForMedian = 4;
constexpr std::size_t kLeastMatched = 3;
// The ends of one collective differ by no more than this share of its length.
constexpr double kTogether = 0.1;

struct Entry {
  const TraceReport* trace = nullptr;
  const DeviceReport* device = nullptr;
};

std::string Who(const TraceReport& trace, const DeviceReport& device) {
  const std::string of = trace.rank.has_value() ? absl::StrCat("rank ", *trace.rank) : trace.file;
  return trace.devices.size() == 1 && trace.rank.has_value() ? of
                                                             : absl::StrCat(of, " ", device.name);
}

// Matches the collectives that all entries have, by their identity.
class Matcher {
 public:
  explicit Matcher(absl::Span<const Entry> entries) : entries_(entries) {}

  // Why none is found; "" when some are.
  std::string Match() {
    bool numbered = true;
    for (const Entry& entry : entries_) {
      if (entry.device->met.empty()) return "not every trace has a collective";
      for (const Met& met : entry.device->met) numbered = numbered && met.sequence >= 0;
    }
    numbered ? ByNumber() : ByOrder();
    if (matched.empty()) {
      return numbered
                 ? "no collective is on all ranks"
                 : "the ranks have not the same number of collectives, and no numbers for them";
    }
    if (!numbered && !OneClock()) {
      matched.clear();
      return "in the order in which they stand the collectives do not end together: parts are "
             "missing, or they are others";
    }
    return "";
  }

  std::vector<std::vector<Interval>> matched;  // of each collective by entry

 private:
  void ByNumber() {
    std::map<std::pair<std::string, std::int64_t>, std::vector<Interval>> found;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      for (const Met& met : entries_[i].device->met) {
        auto& at = found[{entries_[i].device->keys[met.key], met.sequence}];
        // A second kernel of one number belongs to the first.
        if (at.size() == i) at.push_back(met.when);
      }
    }
    for (auto& [key, at] : found) {
      if (at.size() == entries_.size()) matched.push_back(std::move(at));
    }
  }

  void ByOrder() {
    std::map<std::string, std::vector<std::vector<Interval>>> found;  // by key, by entry
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      for (const Met& met : entries_[i].device->met) {
        auto& at = found[entries_[i].device->keys[met.key]];
        at.resize(entries_.size());
        at[i].push_back(met.when);
      }
    }
    for (const auto& [key, at] : found) {
      const std::size_t count = at[0].size();
      if (std::any_of(at.begin(), at.end(), [&](const auto& of) { return of.size() != count; })) {
        continue;
      }
      for (std::size_t k = 0; k < count; ++k) {
        matched.emplace_back();
        for (const auto& of : at) matched.back().push_back(of[k]);
      }
    }
  }

  // A collective ends on all ranks at about one moment. Clocks may differ, but by the same at each.
  bool OneClock() const {
    std::vector<float> lengths;
    for (const auto& at : matched) {
      for (const Interval& one : at) lengths.push_back(static_cast<float>(one.Length()));
    }
    const double middle = timeseries::Median(lengths);
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      std::vector<float> offsets;
      for (const auto& at : matched) {
        // Against the first one's difference, so that a float holds it.
        const auto offset = static_cast<double>(at[i].end - at[0].end);
        const auto of_first = static_cast<double>(matched[0][i].end - matched[0][0].end);
        offsets.push_back(static_cast<float>(offset - of_first));
      }
      if (timeseries::CenterOf(offsets).spread > std::max(kTogether * middle, 100'000.0))
        return false;
    }
    return true;
  }

  absl::Span<const Entry> entries_;
};

}  // namespace

RankComparison CompareRanks(absl::Span<const TraceReport> traces) {
  RankComparison comparison;
  std::vector<Entry> entries;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    for (std::size_t d = 0; d < traces[t].devices.size(); ++d) {
      const DeviceReport& device = traces[t].devices[d];
      if (device.steps.empty()) continue;
      entries.push_back({&traces[t], &device});
      RankTimes times;
      times.who = Who(traces[t], device);
      times.trace = t;
      times.device = d;
      times.steps = device.steps.size();
      const double unit = 1e-9 / static_cast<double>(device.steps.size());
      times.wall = static_cast<double>(device.total.wall) * unit;
      times.compute = static_cast<double>(device.total.compute) * unit;
      times.communication = static_cast<double>(device.total.communication) * unit;
      times.exposed = static_cast<double>(device.total.exposed) * unit;
      comparison.ranks.push_back(std::move(times));
    }
  }
  if (entries.size() < 2) return comparison;

  Matcher matcher(entries);
  comparison.not_matched = matcher.Match();
  comparison.matched = matcher.matched.size();
  for (const auto& at : matcher.matched) {
    const auto least = std::min_element(
        at.begin(), at.end(), [](const auto& a, const auto& b) { return a.Length() < b.Length(); });
    ++comparison.ranks[static_cast<std::size_t>(least - at.begin())].last;
    for (std::size_t i = 0; i < at.size(); ++i) {
      comparison.ranks[i].waited += static_cast<double>(at[i].Length() - least->Length()) * 1e-9 /
                                    static_cast<double>(comparison.ranks[i].steps);
    }
  }

  std::vector<float> computes;
  for (const RankTimes& rank : comparison.ranks) {
    computes.push_back(static_cast<float>(rank.compute));
  }
  const timeseries::Center center = timeseries::CenterOf(computes);
  const bool enough = entries.size() >= kLeastForMedian;
  std::size_t longest = 0;
  std::size_t latest = 0;
  for (std::size_t i = 0; i < comparison.ranks.size(); ++i) {
    RankTimes& rank = comparison.ranks[i];
    if (enough && center.spread > 0) {
      rank.score =
          (rank.compute - static_cast<double>(center.median)) / static_cast<double>(center.spread);
    }
    if (rank.compute > comparison.ranks[longest].compute) longest = i;
    if (rank.last > comparison.ranks[latest].last) latest = i;
  }
  std::vector<float> others = computes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(longest));
  const double middle = timeseries::Median(others);
  const double ahead = middle > 0 ? comparison.ranks[longest].compute / middle - 1 : 0;
  if (ahead >= kLeastShare && (!enough || comparison.ranks[longest].score >= kLeastScore)) {
    comparison.slowest = longest;
    comparison.lateness = Lateness::kComputes;
    comparison.certain = enough;
    comparison.ahead = ahead;
  } else if (comparison.matched >= kLeastMatched &&
             2 * comparison.ranks[latest].last > comparison.matched) {
    // Chance makes nobody the last one in most of them, but among two in half.
    double most = 0;
    for (const RankTimes& rank : comparison.ranks) most = std::max(most, rank.waited);
    if (most >= kLeastShare * comparison.ranks[latest].wall) {
      comparison.slowest = latest;
      comparison.lateness = Lateness::kArrives;
      comparison.certain = enough;
    }
  }
  return comparison;
}

}  // namespace galen::profile
