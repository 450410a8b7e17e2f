// SeriesTests of a place beside its peers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/timeseries/change_points.h"
#include "common/timeseries/peers.h"
#include "common/timeseries/robust.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

std::string NameOf(const telemetry::Place& place) {
  if (!place.rank.empty() && place.device.empty()) return place.rank;
  return place.device.empty() ? place.node : Shown(place);
}

timeseries::PeerOptions PeersOf(const SeriesTestInput& input, const timeseries::Grid& grid) {
  timeseries::PeerOptions options;
  options.window = std::max<std::size_t>(4, PointsOf(input.Number("window_min"), grid));
  options.least_score = input.Number("least_score");
  options.least_relative = input.Number("least_relative");
  options.least_windows = static_cast<std::size_t>(input.Number("least_windows"));
  options.most_share = input.Number("most_share");
  return options;
}

std::vector<NumberSpec> PeerNumbers(double direction) {
  return {
      {"direction", direction, -1, 1, "1: higher ones, -1: lower ones, 0: both"},
      {"least", 0, 0, 1e18, "least difference from the peers that counts"},
      {"window_min", 3, 0.1, 600, "minutes whose median is compared"},
      {"least_windows", 3, 1, 1000, "windows in a row in which it differs: judgement"},
      {"least_score", 6, 1, 1000, "spreads: see common/timeseries/peers.h"},
      {"least_relative", 0.02, 0, 10, "share of the peers' level: see common/timeseries/peers.h"},
      {"most_share", 0.34, 0.01, 0.5,
       "more than so large a share of the places is a habit of the group: judgement"}};
}

bool Counts(const timeseries::Outlier& outlier, const SeriesTestInput& input) {
  const double direction = input.Number("direction");
  if (direction > 0 && outlier.score <= 0) return false;
  if (direction < 0 && outlier.score >= 0) return false;
  return static_cast<double>(std::abs(outlier.value - outlier.peers)) >= input.Number("least");
}

std::vector<SeriesTestResult> Differs(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const timeseries::PeerReport report =
      timeseries::FindOutliers(rows.values, PeersOf(input, rows.grid));
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& place = rows.places[i];
    if (report.compared == 0) {
      seen.push_back(Unknown(place, absl::StrCat(rows.places.size(),
                                                 " are too few to compare, or too little of them "
                                                 "is known")));
      continue;
    }
    if (KnownShare(rows.values.Row(i)) < 0.5) {
      seen.push_back(Unknown(place, "known for less than half of the window"));
      continue;
    }
    const auto found = std::find_if(
        report.outliers.begin(), report.outliers.end(),
        [&](const auto& outlier) { return outlier.entity == i && Counts(outlier, input); });
    if (found == report.outliers.end()) {
      seen.push_back({place, std::string(kNobody), "as its peers", -1});
    } else {
      seen.push_back(
          {place, NameOf(place),
           absl::StrCat(Short(static_cast<double>(found->value)), " beside ",
                        Short(static_cast<double>(found->peers)), " of its peers, from ",
                        Clock(rows.grid, found->begin), " to ", Clock(rows.grid, found->end)),
           static_cast<int>(i)});
    }
  }
  return seen;
}

std::vector<SeriesTestResult> RatioToPeers(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  std::vector<float> medians;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    medians.push_back(timeseries::Median(rows.values.Row(i)));
  }
  const float usual = timeseries::Median(medians);
  const bool comparable = timeseries::KnownOf(medians).size() > 3 && usual > 0;
  std::vector<SeriesTestResult> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    if (!comparable || !IsKnown(medians[i])) {
      seen.push_back(Unknown(rows.places[i], "too few to compare, or nothing known of this one"));
      continue;
    }
    seen.push_back({rows.places[i], static_cast<double>(medians[i] / usual),
                    absl::StrCat(Short(static_cast<double>(medians[i])), " beside ",
                                 Short(static_cast<double>(usual)), " ", rows.unit),
                    static_cast<int>(i)});
  }
  return seen;
}

// The slowest rank, or the node that all slow ranks are on.
std::vector<SeriesTestResult> Slowest(const SeriesTestInput& input, bool node) {
  const Rows& rows = *input.of[0];
  const timeseries::PeerReport report =
      timeseries::FindOutliers(rows.values, PeersOf(input, rows.grid));
  if (report.compared == 0) return {Unknown({}, "too few ranks to compare")};
  std::set<std::string> slow_nodes;
  const telemetry::Place* slowest = nullptr;
  for (const timeseries::Outlier& outlier : report.outliers) {
    if (!Counts(outlier, input)) continue;
    const telemetry::Place& place = rows.places[outlier.entity];
    if (slowest == nullptr) slowest = &place;
    slow_nodes.insert(place.node);
  }
  const bool one = slow_nodes.size() == 1 && !slow_nodes.begin()->empty();
  std::set<std::string> nodes;
  for (const telemetry::Place& place : rows.places) nodes.insert(place.node);
  std::vector<SeriesTestResult> seen;
  for (const std::string& each : nodes) {
    if (!node && slowest != nullptr && slowest->node == each) {
      seen.push_back({*slowest, slowest->rank.empty() ? Shown(*slowest) : slowest->rank,
                      "slower than its peers", -1});
      continue;
    }
    if (!node) {
      seen.push_back({{.node = each}, std::string(kNobody), "no rank of it is the slowest", -1});
      continue;
    }
    const bool is = one && slow_nodes.count(each) > 0;
    seen.push_back({{.node = each}, is ? each : std::string(kNobody), "", -1});
  }
  return seen;
}
std::vector<SeriesTestResult> SlowestRank(const SeriesTestInput& input) {
  return Slowest(input, false);
}
std::vector<SeriesTestResult> SlowestNode(const SeriesTestInput& input) {
  return Slowest(input, true);
}

// A place that falls while its peers do not, in % of its earlier level or of theirs. A fall of all
// places at once is a symptom of the job, and not of one place.
std::vector<SeriesTestResult> Drop(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::vector<float> usual = MedianOf(rows);
  const bool peers = rows.places.size() >= 4;
  const std::size_t shortest = PointsOf(input.Number("shortest_min"), rows.grid);
  std::vector<SeriesTestResult> seen;
  std::vector<float> row(rows.grid.size);
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    for (std::size_t t = 0; t < row.size(); ++t) {
      const float value = rows.values.Row(i)[t];
      const bool worked = t >= input.activity.begin && t < input.activity.end;
      row[t] = !worked ? kUnknown : !peers ? value : usual[t] > 0 ? value / usual[t] : kUnknown;
    }
    float high = peers ? 1 : kUnknown;
    float low = kUnknown;
    for (const timeseries::Phase& phase :
         timeseries::FindPhases(row, {.shortest = std::max<std::size_t>(4, shortest)})) {
      if (phase.known == 0) continue;
      if (!(phase.level <= high)) high = phase.level;
      if (!(phase.level >= low)) low = phase.level;
    }
    if (!IsKnown(low) || !(high > 0)) {
      seen.push_back(Unknown(rows.places[i], "no samples in the window"));
      continue;
    }
    const double drop = std::max(0.0, static_cast<double>(100 * (1 - low / high)));
    seen.push_back({rows.places[i], drop,
                    peers ? absl::StrCat("held ", Short(static_cast<double>(100 * low)),
                                         " % of what its peers have")
                          : absl::StrCat("from ", Short(static_cast<double>(high)), " to ",
                                         Short(static_cast<double>(low)), " ", rows.unit),
                    static_cast<int>(i)});
  }
  return seen;
}

// Points at which a row stands out from its peers, smoothed over `window`.
std::vector<char> StandsOut(const Rows& rows, std::size_t entity, absl::Span<const float> usual,
                            absl::Span<const float> spread, std::size_t window, double least) {
  const auto row = rows.values.Row(entity);
  std::vector<char> out(row.size(), 0);
  for (std::size_t from = 0; from < row.size(); from += window) {
    const std::size_t size = std::min(window, row.size() - from);
    const float value = timeseries::Median(row.subspan(from, size));
    const float middle = timeseries::Median(usual.subspan(from, size));
    const float noise = timeseries::Median(spread.subspan(from, size));
    if (!IsKnown(value) || !IsKnown(middle)) continue;
    const double over = static_cast<double>(value - middle);
    const bool is = over >= least && over > 6 * static_cast<double>(IsKnown(noise) ? noise : 0);
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(from), size, is ? 1 : 0);
  }
  return out;
}

// So many of all may stand out at a time without widening what is usual.
constexpr double kMostStanding = 0.34;

// Places that stand out when throughput is low and not when it is high: their trouble comes and
// goes with the loss. Trouble only at other times does not explain the loss.
std::vector<SeriesTestResult> GoesWithLoss(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const JobActivity& activity = input.activity;
  std::vector<SeriesTestResult> seen;
  std::vector<char> low(activity.grid.size, 0);
  std::vector<char> high(activity.grid.size, 0);
  std::size_t lows = 0;
  for (const timeseries::Phase& phase : activity.phases) {
    const bool loses = activity.LossOf(phase) >= input.Number("least_loss");
    for (std::size_t t = phase.begin; t < phase.end; ++t) (loses ? low : high)[t] = 1;
    lows += loses ? phase.end - phase.begin : 0;
  }
  if (!activity.known) return {Unknown({}, "the throughput of the job is not known")};
  const std::vector<float> usual = MedianOf(rows);
  std::vector<float> spread(rows.grid.size, 0);
  std::vector<float> column(rows.places.size());
  for (std::size_t t = 0; t < spread.size(); ++t) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows.values.Row(i)[t];
    spread[t] = timeseries::CenterOf(column, kMostStanding).spread;
  }
  const std::size_t window =
      std::max<std::size_t>(3, PointsOf(input.Number("window_min"), rows.grid));
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& place = rows.places[i];
    if (KnownShare(rows.values.Row(i)) < 0.5) {
      seen.push_back(Unknown(place, "known for less than half of the window"));
      continue;
    }
    if (rows.places.size() < 4) {
      seen.push_back(Unknown(place, "fewer than four to compare"));
      continue;
    }
    const std::vector<char> out = StandsOut(rows, i, usual, spread, window, input.Number("least"));
    std::size_t inside = 0;
    std::size_t outside = 0;
    std::size_t first = out.size();
    std::size_t last = 0;
    for (std::size_t t = 0; t < out.size(); ++t) {
      if (out[t] == 0) continue;
      inside += low[t] != 0 ? 1 : 0;
      outside += high[t] != 0 ? 1 : 0;
      first = std::min(first, t);
      last = t;
    }
    // A fault that lasts for all of the window goes with a loss that does, too.
    const double share = inside + outside == 0
                             ? 0
                             : static_cast<double>(inside) / static_cast<double>(inside + outside);
    const bool goes = lows > 0 && inside >= 2 * window && share >= input.Number("least_share");
    if (!goes) {
      seen.push_back({place, std::string(kNobody),
                      inside + outside == 0
                          ? "stands out at no time"
                          : absl::StrCat("stands out, but for ", Short(100 * (1 - share)),
                                         " % of it while throughput was good"),
                      -1});
      continue;
    }
    seen.push_back(
        {place, place.node,
         absl::StrCat("stands out from ", Clock(rows.grid, first), " to ", Clock(rows.grid, last),
                      ", ", Short(100 * share), " % of it while throughput was low"),
         static_cast<int>(i)});
  }
  return seen;
}

}  // namespace

std::vector<SeriesTest> PeerTests() {
  return {
      {"differs", "The place whose values differ from those of its peers for long, or none.", 1,
       "text", PeerNumbers(1), Differs},
      {"ratio_to_peers", "The median relative to that of its peers.", 1, "float", {}, RatioToPeers},
      {"slowest_rank", "The rank that differs most from its peers, or none.", 1, "text",
       PeerNumbers(1), SlowestRank},
      {"slowest_node", "The node that all ranks that differ are on, or none.", 1, "text",
       PeerNumbers(1), SlowestNode},
      {"drop",
       "How far it fell below what it held, or below its peers, while they did not; %.",
       1,
       "float",
       {{"shortest_min", 1, 0.1, 600, "minutes for which it has to stay there: judgement"}},
       Drop},
      {"goes_with_loss",
       "The place whose values stand out from its peers while throughput is low, and at no other "
       "time, or none.",
       1,
       "text",
       {{"least", 0, 0, 1e18, "least difference from the peers that counts"},
        {"least_loss", 4, 0.1, 100, "% that a phase of throughput must lose: judgement"},
        {"least_share", 0.7, 0.5, 1,
         "share of the time in which it stands out that falls into such phases: judgement"},
        {"window_min", 2, 0.1, 600, "minutes whose median is compared"}},
       GoesWithLoss},
  };
}

}  // namespace galen::playbook
