// SeriesTests of a place by itself: what it stood at, how it grew, where it is going.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/timeseries/robust.h"
#include "common/timeseries/trend.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;

std::vector<SeriesTestResult> QuantileOf(const SeriesTestInput& input, double share) {
  const Rows& rows = *input.of[0];
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    seen.push_back({rows.places[i], ValueOf(timeseries::Quantile(rows.values.Row(i), share)),
                    absl::StrCat(rows.name, ", ", rows.unit), static_cast<int>(i)});
  }
  return seen;
}

std::vector<SeriesTestResult> Highest(const SeriesTestInput& input) { return QuantileOf(input, 1); }
std::vector<SeriesTestResult> Lowest(const SeriesTestInput& input) { return QuantileOf(input, 0); }
std::vector<SeriesTestResult> MedianLevel(const SeriesTestInput& input) {
  return QuantileOf(input, 0.5);
}

// The highest level that lasts.
std::vector<SeriesTestResult> Held(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t shortest = PointsOf(input.Number("shortest_min"), rows.grid);
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    seen.push_back({rows.places[i], ValueOf(WorkingLevel(rows.values.Row(i), shortest)),
                    absl::StrCat(rows.name, ", held for ", Short(input.Number("shortest_min")),
                                 " minutes or longer"),
                    static_cast<int>(i)});
  }
  return seen;
}

// Growth of a counter over the known part of its row, and the size of that part.
struct Growth {
  double total = 0;
  std::size_t known = 0;
};
Growth GrowthOf(absl::Span<const float> per_second, absl::Duration step) {
  Growth growth;
  for (const float rate : per_second) {
    if (!IsKnown(rate)) continue;
    growth.total += static_cast<double>(rate) * absl::ToDoubleSeconds(step);
    ++growth.known;
  }
  return growth;
}

std::vector<SeriesTestResult> Grown(const SeriesTestInput& input, bool rate) {
  const Rows& rows = *input.of[0];
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const Growth growth = GrowthOf(rows.values.Row(i), rows.grid.step);
    if (growth.known == 0) {
      seen.push_back(Unknown(rows.places[i], "fewer than two samples in the window"));
      continue;
    }
    // Nothing happened in what was seen; of the rest nobody knows.
    if (growth.known * 2 < rows.grid.size && growth.total == 0) {
      seen.push_back(
          Unknown(rows.places[i], absl::StrCat("known for ", growth.known, " of ", rows.grid.size,
                                               " points, and still in them")));
      continue;
    }
    const double value =
        rate ? input.Number("times") * growth.total /
                   (static_cast<double>(growth.known) * absl::ToDoubleSeconds(rows.grid.step))
             : std::round(growth.total);
    seen.push_back({rows.places[i], value, rows.name, static_cast<int>(i)});
  }
  return seen;
}

std::vector<SeriesTestResult> GrowthCount(const SeriesTestInput& input) {
  return Grown(input, false);
}
std::vector<SeriesTestResult> GrowthRate(const SeriesTestInput& input) {
  return Grown(input, true);
}

// The code that a measure came to hold within the window: what it held from the beginning on is of
// a time that nobody knows. A series that begins later than those of its peers came with its code.
std::vector<SeriesTestResult> NewCode(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t late = PointsOf(input.Number("late_min"), rows.grid);
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto row = rows.values.Row(i);
    const auto first = std::find_if(row.begin(), row.end(), IsKnown);
    if (first == row.end()) {
      seen.push_back(Unknown(rows.places[i], "no samples in the window"));
      continue;
    }
    float before = *first;
    double code = static_cast<std::size_t>(first - row.begin()) > late ? *first : 0;
    std::size_t at = static_cast<std::size_t>(first - row.begin());
    for (std::size_t t = at; t < row.size(); ++t) {
      if (!IsKnown(row[t]) || row[t] == before) continue;
      before = row[t];
      if (row[t] == 0) continue;
      code = static_cast<double>(row[t]);
      at = t;
    }
    if (code == 0 && *first != 0) {
      seen.push_back(Unknown(
          rows.places[i], absl::StrCat(rows.name, " stood at ", Short(static_cast<double>(*first)),
                                       " before the window: when that was is not known")));
      continue;
    }
    seen.push_back({rows.places[i], code,
                    code == 0 ? rows.name
                              : absl::StrCat(rows.name, " came to ", Short(code), " at ",
                                             Clock(rows.grid, at)),
                    static_cast<int>(i)});
  }
  return seen;
}

// How often a state was left.
std::vector<SeriesTestResult> FallsBelow(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const double below = input.Number("below");
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    double falls = 0;
    float last = timeseries::kUnknown;
    for (const float value : rows.values.Row(i)) {
      if (!IsKnown(value)) continue;
      if (static_cast<double>(value) < below && IsKnown(last) &&
          static_cast<double>(last) >= below) {
        ++falls;
      }
      last = value;
    }
    if (IsKnown(last)) {
      seen.push_back({rows.places[i], falls, absl::StrCat(rows.name, " below ", Short(below)),
                      static_cast<int>(i)});
    } else {
      seen.push_back(Unknown(rows.places[i], "no samples in the window"));
    }
  }
  return seen;
}

std::vector<SeriesTestResult> Spread(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  std::map<std::string, std::vector<float>> of_node;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    of_node[rows.places[i].node].push_back(timeseries::Median(rows.values.Row(i)));
  }
  std::vector<SeriesTestResult> seen;
  for (const auto& [node, medians] : of_node) {
    const std::vector<float> known = timeseries::KnownOf(medians);
    if (known.size() < 2) {
      seen.push_back(Unknown({.node = node}, "fewer than two of its devices are known"));
      continue;
    }
    const auto [low, high] = std::minmax_element(known.begin(), known.end());
    seen.push_back({{.node = node},
                    static_cast<double>(*high - *low),
                    absl::StrCat("medians of ", known.size(), " of ", medians.size()),
                    -1});
  }
  return seen;
}

std::vector<SeriesTestResult> Leaks(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const bool shrinks = input.Number("shrinks") != 0;
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto all = rows.values.Row(i);
    std::vector<float> row(all.begin() + static_cast<std::ptrdiff_t>(input.activity.begin),
                           all.begin() + static_cast<std::ptrdiff_t>(input.activity.end));
    // A shrinking remainder means a leak: its mirror image grows.
    const float top = timeseries::Quantile(row, 1);
    if (shrinks) {
      for (float& value : row) value = 2 * top - value;
    }
    const timeseries::Trend trend =
        timeseries::TrendOf(row, {.least_growth = input.Number("least_growth")});
    if (trend.direction == timeseries::Direction::kUndecided) {
      seen.push_back(Unknown(rows.places[i], "too few points"));
      continue;
    }
    seen.push_back({rows.places[i], trend.leaks,
                    absl::StrCat(shrinks ? "falls by " : "grows by ", Short(trend.growth), " ",
                                 rows.unit, " over the window"),
                    static_cast<int>(i)});
  }
  return seen;
}

// How much of the second measure is used up where the first one says what is left, at the worst.
std::vector<SeriesTestResult> UsedShare(const SeriesTestInput& input) {
  const Rows& left = *input.of[0];
  const Rows& total = *input.of[1];
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < left.places.size(); ++i) {
    const int other = RowOf(total, left.places[i]);
    const float lowest = timeseries::Quantile(left.values.Row(i), 0);
    const float all = other < 0
                          ? timeseries::kUnknown
                          : timeseries::Median(total.values.Row(static_cast<std::size_t>(other)));
    if (!IsKnown(lowest) || !(all > 0)) {
      seen.push_back(Unknown(left.places[i], "what is left, or how much there is, is not known"));
      continue;
    }
    seen.push_back({left.places[i], static_cast<double>(100 * (1 - lowest / all)),
                    absl::StrCat(Short(static_cast<double>(lowest)), " of ",
                                 Short(static_cast<double>(all)), " ", left.unit, " left"),
                    static_cast<int>(i)});
  }
  return seen;
}

// The share of the second measure that the first one is.
std::vector<SeriesTestResult> ShareOf(const SeriesTestInput& input) {
  const Rows& part = *input.of[0];
  const Rows& whole = *input.of[1];
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < part.places.size(); ++i) {
    int other = RowOf(whole, part.places[i]);
    if (other < 0 && whole.places.size() == 1) other = 0;
    const float of = timeseries::Median(part.values.Row(i));
    const float all = other < 0
                          ? timeseries::kUnknown
                          : timeseries::Median(whole.values.Row(static_cast<std::size_t>(other)));
    if (!IsKnown(of) || !(all > 0)) {
      seen.push_back(Unknown(part.places[i], "one of both is not known"));
      continue;
    }
    seen.push_back({part.places[i], static_cast<double>(of / all),
                    absl::StrCat(Short(static_cast<double>(of)), " of ",
                                 Short(static_cast<double>(all)), " ", whole.unit),
                    static_cast<int>(i)});
  }
  return seen;
}

}  // namespace

std::vector<SeriesTest> LevelTests() {
  return {
      {"highest", "The highest value.", 1, "float", {}, Highest},
      {"lowest", "The lowest value.", 1, "float", {}, Lowest},
      {"median", "The median.", 1, "float", {}, MedianLevel},
      {"held",
       "The highest level that lasts.",
       1,
       "float",
       {{"shortest_min", 5, 0.1, 600,
         "minutes for which it has to stay there: what a checkpoint "
         "takes is shorter (AMD's method: five to eight)"}},
       Held},
      {"growth", "Growth of a counter, as a whole number.", 1, "float", {}, GrowthCount},
      {"rate",
       "Average growth of a counter per second.",
       1,
       "float",
       {{"times", 1, 1e-9, 1e9, "factor of the result: 3600 gives growth per hour"}},
       GrowthRate},
      {"new_code",
       "The code that a measure came to hold within the window; 0: none.",
       1,
       "float",
       {{"late_min", 5, 0.5, 600,
         "minutes after the window's beginning from which on a series that begins is new"}},
       NewCode},
      {"falls_below",
       "How often a value fell below a limit.",
       1,
       "float",
       {{"below", 0.5, -1e18, 1e18, "the limit"}},
       FallsBelow},
      {"spread", "How far the medians of a node's devices lie apart.", 1, "float", {}, Spread},
      {"leaks",
       "Whether it grows (shrinks) and does not come back.",
       1,
       "bool",
       {{"least_growth", 0.02, 0, 10, "share of the beginning that it has to grow by: judgement"},
        {"shrinks", 0, 0, 1, "1: what is left of something, which leaks when it shrinks"}},
       Leaks},
      {"used_share",
       "How much of the second measure was used at the worst, where the first one is what is left; "
       "%.",
       2,
       "float",
       {},
       UsedShare},
      {"share_of",
       "The share of the second measure that the first one is.",
       2,
       "float",
       {},
       ShareOf},
  };
}

}  // namespace galen::playbook
