// SeriesTests of whether a machine was there, and worked, as its neighbours did.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/timeseries/frozen.h"
#include "common/timeseries/robust.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

// When a coordination service gave up on tasks, and how long it had waited for their heartbeat:
// from the job's log, on the places of its machines.
struct Accusation {
  std::size_t at = 0;  // one behind the last point before it
  double timeout_s = 0;
};
std::optional<Accusation> AccusationIn(absl::Span<const float> row) {
  for (std::size_t t = 0; t < row.size(); ++t) {
    if (IsKnown(row[t])) return Accusation{t, static_cast<double>(row[t])};
  }
  return std::nullopt;
}

// The earliest of all places; the job is killed then.
std::optional<Accusation> FirstAccusation(const Rows& accused) {
  std::optional<Accusation> first;
  for (std::size_t i = 0; i < accused.places.size(); ++i) {
    const auto found = AccusationIn(accused.values.Row(i));
    if (found.has_value() && (!first.has_value() || found->at < first->at)) first = found;
  }
  return first;
}

constexpr char kNobodyAccused[] =
    "no log says that a coordinator gave a task of a known machine up";

// Whether a place that was given up worked all that time, as its neighbours did: from one heartbeat
// timeout before the kill until the kill. In a synchronous job all work until the last step, also
// who then dies; and who dies earlier still has worked in the mean.
std::vector<SeriesTestResult> WorkedToTheEnd(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const Rows& accused = *input.of[1];
  if (!FirstAccusation(accused).has_value()) return {Unknown({}, kNobodyAccused)};
  const std::vector<float> usual = MedianOf(rows);
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& place = rows.places[i];
    const int other = RowOf(accused, place);
    const auto given_up = other < 0
                              ? std::nullopt
                              : AccusationIn(accused.values.Row(static_cast<std::size_t>(other)));
    if (!given_up.has_value()) continue;
    const auto row = rows.values.Row(i).first(std::min(given_up->at, rows.grid.size));
    const auto level = static_cast<double>(WorkingLevel(row, PointsOf(2, rows.grid)));
    const std::size_t points = PointsOf(std::max(1.0, given_up->timeout_s / 60), rows.grid);
    const auto window = Before(row, row.size(), points);
    const auto last = Before(row, row.size(), PointsOf(input.Number("last_min"), rows.grid));
    if (KnownShare(row) == 0) {
      seen.push_back(Unknown(place, "no samples in the window"));
      continue;
    }
    if (KnownShare(window) < 0.8 || KnownShare(last) == 0) {
      const auto known = timeseries::LastKnown(row);
      seen.push_back({place, false,
                      absl::StrCat("its numbers end at ", Clock(rows.grid, *known),
                                   ", it was given up at ", Clock(rows.grid, row.size())),
                      static_cast<int>(i)});
      continue;
    }
    const double share = input.Number("work_share");
    const std::size_t begin = row.size() - window.size();
    std::size_t worked = 0;
    std::size_t known = 0;
    for (std::size_t t = 0; t < window.size(); ++t) {
      if (!IsKnown(window[t])) continue;
      ++known;
      const auto value = static_cast<double>(window[t]);
      const float others = usual[begin + t];
      // While all rest, as at a checkpoint, it need not work either.
      const double wanted = IsKnown(others) ? std::min(level, static_cast<double>(others)) : level;
      worked += value >= share * wanted ? 1 : 0;
    }
    const auto others_worked = static_cast<double>(
        timeseries::Median(absl::MakeConstSpan(usual).subspan(begin, window.size())));
    const bool alive =
        static_cast<double>(worked) >= input.Number("time_share") * static_cast<double>(known) &&
        static_cast<double>(timeseries::Median(last)) >= share * level &&
        static_cast<double>(timeseries::Median(window)) >= share * level;
    seen.push_back(
        {place, alive,
         absl::StrCat("worked at ", worked, " of ", known, " points from ", Clock(rows.grid, begin),
                      " to ", Clock(rows.grid, row.size()), " when it was given up: median ",
                      Short(static_cast<double>(timeseries::Median(window))), " ", rows.unit, ", ",
                      Short(level), " at work, ", Short(others_worked), " its peers"),
         static_cast<int>(i)});
  }
  if (seen.empty()) return {Unknown({}, kNobodyAccused)};
  return seen;
}

// Whether the GPUs of a machine did nothing before the kill while those of others worked or waited:
// its process was gone, though the machine was not.
std::vector<SeriesTestResult> StoppedBeforeKill(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const auto kill = FirstAccusation(*input.of[1]);
  if (!kill.has_value()) return {Unknown({}, kNobodyAccused)};
  const std::size_t points = PointsOf(std::max(1.0, kill->timeout_s / 60) / 2, rows.grid);
  std::vector<float> busy;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    busy.push_back(timeseries::Median(Before(rows.values.Row(i), kill->at, points)));
  }
  const float usual = timeseries::Median(busy);
  const double idle = input.Number("idle_pct");
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    if (!IsKnown(busy[i]) || !IsKnown(usual)) {
      seen.push_back(Unknown(rows.places[i], "no samples before the kill"));
      continue;
    }
    const auto own = static_cast<double>(busy[i]);
    seen.push_back(
        {rows.places[i], own<idle&& static_cast<double>(usual)> 50,
         absl::StrCat(Short(own), " ", rows.unit, " in the last ", Short(kill->timeout_s / 2),
                      " s before ", Clock(rows.grid, kill->at), ", ",
                      Short(static_cast<double>(usual)), " its peers"),
         static_cast<int>(i)});
  }
  return seen;
}

// Whether the numbers of a place end while those of others go on.
std::vector<SeriesTestResult> Ended(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t least = PointsOf(input.Number("least_min"), rows.grid);
  std::vector<float> ends;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto last = timeseries::LastKnown(rows.values.Row(i));
    ends.push_back(last.has_value() ? static_cast<float>(*last) : kUnknown);
  }
  const float usual = timeseries::Median(ends);
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    if (!IsKnown(ends[i]) || timeseries::KnownOf(ends).size() < 3) {
      seen.push_back(Unknown(rows.places[i], "no samples, or too few to compare"));
      continue;
    }
    const bool ended =
        static_cast<double>(ends[i]) + static_cast<double>(least) < static_cast<double>(usual);
    const auto at = static_cast<std::size_t>(ends[i]);
    seen.push_back(
        {rows.places[i], ended,
         ended ? absl::StrCat("its numbers end at ", Clock(rows.grid, at), ", those of others at ",
                              Clock(rows.grid, static_cast<std::size_t>(usual)))
               : "its numbers go on",
         ended ? static_cast<int>(i) : -1});
  }
  return seen;
}

}  // namespace

std::vector<SeriesTest> AliveTests() {
  return {
      {"worked_to_the_end",
       "Whether a machine that was given up worked from one timeout before the kill until it; the "
       "second measure says who was given up, when, and after how many seconds.",
       2,
       "bool",
       {{"work_share", 0.6, 0.05, 1, "share of the working level that still is work: judgement"},
        {"time_share", 0.9, 0.1, 1, "share of that time in which it has to work: judgement"},
        {"last_min", 1, 0.1, 60, "minutes before the kill in which it has to work"}},
       WorkedToTheEnd},
      {"stopped_before_kill",
       "Whether the first measure was at nothing in the half of a timeout before the kill, while "
       "that of others was not.",
       2,
       "bool",
       {{"idle_pct", 5, 0, 50, "% below which a GPU does nothing"}},
       StoppedBeforeKill},
      {"ended",
       "Whether its numbers end while those of its peers go on.",
       1,
       "bool",
       {{"least_min", 3, 0.1, 600, "minutes earlier: judgement"}},
       Ended},
  };
}

}  // namespace galen::playbook
