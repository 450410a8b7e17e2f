// Tests of whether a machine was there, and worked, as its neighbours did.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/playbook/test_parts.h"
#include "common/series/frozen.h"
#include "common/series/robust.h"

namespace galen::playbook {
namespace {

using series::IsKnown;
using series::kUnknown;

// Whether a place worked until the job stopped, as its neighbours did.
std::vector<Seen> WorkedToTheEnd(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t tail = PointsOf(input.Number("tail_min"), rows.grid);
  const std::size_t end = input.scene.known ? input.scene.end : rows.grid.size;
  std::vector<float> levels;
  std::vector<float> tails;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto row = rows.values.Row(i).first(end);
    levels.push_back(WorkingLevel(row, PointsOf(2, rows.grid)));
    tails.push_back(series::Median(Before(row, end, tail)));
  }
  const float usual = series::Median(tails);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& place = rows.places[i];
    const auto before = Before(rows.values.Row(i), end, tail);
    // The last minutes count by themselves: who died just before the end had worked, too.
    const auto last = Before(rows.values.Row(i), end, PointsOf(1, rows.grid));
    if (!IsKnown(levels[i])) {
      seen.push_back(Unknown(place, "no samples in the window"));
      continue;
    }
    if (KnownShare(before) < 0.8 || KnownShare(last) == 0) {
      const auto known = series::LastKnown(rows.values.Row(i).first(end));
      seen.push_back({place, false,
                      known.has_value()
                          ? absl::StrCat("its numbers end at ", Clock(rows.grid, *known),
                                         ", the "
                                         "job went on to ",
                                         Clock(rows.grid, end))
                          : "no samples before the end",
                      static_cast<int>(i)});
      continue;
    }
    const double share = input.Number("work_share");
    const auto level = static_cast<double>(tails[i]);
    const bool as_before = level >= share * static_cast<double>(levels[i]);
    const bool as_others = !IsKnown(usual) || level >= share * static_cast<double>(usual);
    seen.push_back({place, as_before && as_others,
                    absl::StrCat(Short(level), " ", rows.unit, " in the ",
                                 Short(input.Number("tail_min")), " minutes before ",
                                 Clock(rows.grid, end), ", ", Short(static_cast<double>(levels[i])),
                                 " at work, ", Short(static_cast<double>(usual)), " its peers"),
                    static_cast<int>(i)});
  }
  return seen;
}

// Whether the numbers of a place end while those of others go on.
std::vector<Seen> Ended(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t least = PointsOf(input.Number("least_min"), rows.grid);
  std::vector<float> ends;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto last = series::LastKnown(rows.values.Row(i));
    ends.push_back(last.has_value() ? static_cast<float>(*last) : kUnknown);
  }
  const float usual = series::Median(ends);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    if (!IsKnown(ends[i]) || series::KnownOf(ends).size() < 3) {
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

std::vector<Test> AliveTests() {
  return {
      {"worked_to_the_end",
       "Whether it held its working level, as its peers did, in the minutes before the job's last "
       "step.",
       1,
       "bool",
       {{"tail_min", 15, 0.5, 600, "minutes that are looked at: AMD's method takes 15"},
        {"work_share", 0.6, 0.05, 1, "share of the working level that still is work: judgement"}},
       WorkedToTheEnd},
      {"ended",
       "Whether its numbers end while those of its peers go on.",
       1,
       "bool",
       {{"least_min", 3, 0.1, 600, "minutes earlier: judgement"}},
       Ended},
  };
}

}  // namespace galen::playbook
