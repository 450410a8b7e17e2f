#include "common/telemetry/examine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/series/change_points.h"
#include "common/series/frozen.h"
#include "common/series/robust.h"
#include "common/series/trend.h"

namespace galen::telemetry {
namespace {

constexpr char kNone[] = "none";

std::string Shown(const Place& place) {
  std::string shown = place.node.empty() ? "an unknown node" : place.node;
  if (!place.device.empty()) absl::StrAppend(&shown, " ", place.device);
  if (!place.port.empty()) absl::StrAppend(&shown, "/", place.port);
  if (!place.rank.empty()) absl::StrAppend(&shown, " rank ", place.rank);
  return shown;
}

// Measures one quantity, and notes what it rests on. NOT_FOUND as of Measure().
absl::StatusOr<Measured> Ask(Source& source, const Rules& rules, const std::string& quantity,
                             const Window& window, const Call& call, Examination& examination) {
  GALEN_ASSIGN_OR_RETURN(Measured measured,
                         Measure(source, rules, quantity, {window.start, window.end, window.step},
                                 window.most_age, call));
  examination.complete = examination.complete && measured.complete;
  examination.remarks.insert(examination.remarks.end(), measured.warnings.begin(),
                             measured.warnings.end());
  for (const Answer& answer : measured.answers) {
    examination.answers.push_back(answer);
    for (const std::string& warning : answer.warnings)
      examination.remarks.push_back(absl::StrCat(answer.query, ": ", warning));
  }
  return measured;
}

Value Number(float value) {
  if (!series::IsKnown(value)) return std::monostate();
  return static_cast<double>(value);
}

// What a counter grew by over the known part of its row, and how much of it is known.
struct Growth {
  double total = 0;
  std::size_t known = 0;
};
Growth GrowthOf(absl::Span<const float> per_second, absl::Duration step) {
  Growth growth;
  for (const float rate : per_second) {
    if (!series::IsKnown(rate)) continue;
    growth.total += static_cast<double>(rate) * absl::ToDoubleSeconds(step);
    ++growth.known;
  }
  return growth;
}

// The growth of each place as `finding`: a rate, or a whole number of events.
void PutGrowth(const Measured& measured, const std::string& finding, bool rate, absl::Duration step,
               Examination& examination) {
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    const Growth growth = GrowthOf(measured.values.Row(i), step);
    Observation observation{finding, measured.rows[i].place, std::monostate(),
                            measured.rows[i].metric};
    if (growth.known == 0) {
      observation.why =
          absl::StrCat(measured.rows[i].metric, ": fewer than two samples in the window");
    } else if (rate) {
      observation.value =
          growth.total / (static_cast<double>(growth.known) * absl::ToDoubleSeconds(step));
    } else {
      observation.value = std::round(growth.total);
    }
    // Nothing happened in what was seen; of the rest nobody knows.
    if (growth.known * 2 < measured.grid.size && growth.known > 0 && growth.total == 0) {
      observation.value = std::monostate();
      observation.why = absl::StrCat(measured.rows[i].metric, ": known for ", growth.known, " of ",
                                     measured.grid.size, " points, and still in them");
    }
    examination.observations.push_back(std::move(observation));
  }
}

// Rows of the same key added up; unknown where one of them is.
std::map<std::string, std::vector<float>> SumByNode(const Measured& measured) {
  std::map<std::string, std::vector<float>> sums;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    std::vector<float>& sum =
        sums.try_emplace(measured.rows[i].place.node, measured.grid.size, 0.0F).first->second;
    const auto row = measured.values.Row(i);
    for (std::size_t t = 0; t < row.size(); ++t) sum[t] += row[t];
  }
  return sums;
}

void PutClockDrops(const Measured& clock, const GpuHealthOptions& options,
                   Examination& examination) {
  std::vector<float> highest;
  std::vector<std::vector<series::Phase>> phases;
  for (std::size_t i = 0; i < clock.rows.size(); ++i) {
    phases.push_back(series::FindPhases(clock.values.Row(i), {.shortest = options.shortest}));
    float high = series::kUnknown;
    for (const series::Phase& phase : phases.back()) {
      if (phase.known > 0 && !(phase.level <= high)) high = phase.level;
    }
    highest.push_back(high);
  }
  // One that is slow all the time is told by its peers.
  const float usual = series::Median(highest);
  for (std::size_t i = 0; i < clock.rows.size(); ++i) {
    Observation observation{"clock_drop_pct", clock.rows[i].place, std::monostate(),
                            "no samples in the window"};
    float low = series::kUnknown;
    for (const series::Phase& phase : phases[i]) {
      if (phase.known > 0 && !(phase.level >= low)) low = phase.level;
    }
    const float from = std::max(highest[i], clock.rows.size() >= 4 ? usual : highest[i]);
    if (series::IsKnown(low) && from > 0) {
      observation.value = static_cast<double>(100 * (1 - low / from));
      observation.why = absl::StrCat("from ", from, " to ", low, " ", clock.quantity->unit);
    }
    examination.observations.push_back(std::move(observation));
  }
}

void PutPower(Measured& power, const GpuHealthOptions& options, Examination& examination) {
  if (power.quantity->never_constant) {
    const std::vector<series::Ghost> ghosts =
        series::FindGhosts(power.values, {.least_samples = options.ghost});
    for (const series::Ghost& ghost : ghosts) {
      examination.remarks.push_back(absl::StrCat(
          Shown(power.rows[ghost.entity].place), ": ", power.quantity->name, " stands still from ",
          absl::FormatTime(power.grid.At(ghost.begin), absl::UTCTimeZone()), " to ",
          absl::FormatTime(power.grid.At(ghost.end - 1), absl::UTCTimeZone()),
          " while that of others moves: its collector hung; left out"));
    }
    series::Forget(ghosts, power.values);
  }
  std::map<std::string, std::vector<float>> of_node;
  for (std::size_t i = 0; i < power.rows.size(); ++i) {
    of_node[power.rows[i].place.node].push_back(series::Median(power.values.Row(i)));
  }
  for (const auto& [node, medians] : of_node) {
    const std::vector<float> known = series::KnownOf(medians);
    Observation observation{
        "power_spread_w", {.node = node}, std::monostate(), "fewer than two of its GPUs are known"};
    if (known.size() >= 2) {
      const auto [low, high] = std::minmax_element(known.begin(), known.end());
      observation.value = static_cast<double>(*high - *low);
      observation.why = absl::StrCat("medians of ", known.size(), " of ", medians.size(), " GPUs");
    }
    examination.observations.push_back(std::move(observation));
  }
}

// Those of `panel` that differ from their peers. False: nothing could be compared.
bool Outliers(const series::Panel& panel, const series::PeerOptions& options,
              std::vector<series::Outlier>& outliers) {
  series::PeerReport report = series::FindOutliers(panel, options);
  outliers = std::move(report.outliers);
  return report.compared > 0;
}

}  // namespace

absl::StatusOr<Examination> ExamineGpuHealth(Source& source, const Rules& rules,
                                             const Window& window, const GpuHealthOptions& options,
                                             const Call& call) {
  Examination examination;
  absl::Status missing = absl::NotFoundError("no quantity of a GPU");
  bool any = false;
  const auto measure = [&](const char* quantity, auto use) -> absl::Status {
    absl::StatusOr<Measured> measured = Ask(source, rules, quantity, window, call, examination);
    if (absl::IsNotFound(measured.status())) {
      missing = measured.status();
      examination.remarks.push_back(std::string(missing.message()));
      return absl::OkStatus();
    }
    GALEN_RETURN_IF_ERROR(measured.status());
    any = true;
    use(*measured);
    return absl::OkStatus();
  };
  GALEN_RETURN_IF_ERROR(
      measure("gpu_clock", [&](Measured& clock) { PutClockDrops(clock, options, examination); }));
  GALEN_RETURN_IF_ERROR(measure("gpu_temperature", [&](Measured& temperature) {
    for (std::size_t i = 0; i < temperature.rows.size(); ++i) {
      const auto row = temperature.values.Row(i);
      examination.observations.push_back({"temp_peak_c", temperature.rows[i].place,
                                          Number(series::Quantile(row, 1)),
                                          temperature.rows[i].metric});
    }
  }));
  GALEN_RETURN_IF_ERROR(
      measure("gpu_power", [&](Measured& power) { PutPower(power, options, examination); }));
  if (!any) return missing;
  return examination;
}

absl::StatusOr<Examination> ExamineEccRate(Source& source, const Rules& rules, const Window& window,
                                           const Call& call) {
  Examination examination;
  const auto correctable = Ask(source, rules, "gpu_ecc_correctable", window, call, examination);
  if (!correctable.ok() && !absl::IsNotFound(correctable.status())) return correctable.status();
  const auto uncorrectable = Ask(source, rules, "gpu_ecc_uncorrectable", window, call, examination);
  if (!uncorrectable.ok() && !absl::IsNotFound(uncorrectable.status()))
    return uncorrectable.status();
  if (!correctable.ok() && !uncorrectable.ok()) return correctable.status();
  if (correctable.ok())
    PutGrowth(*correctable, "correctable_per_s", true, window.step, examination);
  if (uncorrectable.ok())
    PutGrowth(*uncorrectable, "uncorrectable_delta", false, window.step, examination);
  return examination;
}

absl::StatusOr<Examination> ExamineRetransmits(Source& source, const Rules& rules,
                                               const Window& window,
                                               const series::PeerOptions& options,
                                               const Call& call) {
  Examination examination;
  GALEN_ASSIGN_OR_RETURN(const Measured measured,
                         Ask(source, rules, "rdma_retransmissions", window, call, examination));
  PutGrowth(measured, "retransmit_rate", true, window.step, examination);
  const std::map<std::string, std::vector<float>> sums = SumByNode(measured);
  series::Panel nodes(sums.size(), measured.grid.size);
  std::vector<std::string> names;
  for (const auto& [node, sum] : sums) {
    std::copy(sum.begin(), sum.end(), nodes.Row(names.size()).begin());
    names.push_back(node);
  }
  std::vector<series::Outlier> outliers;
  Observation observation{"outlier_host", {}, std::monostate(), ""};
  if (!Outliers(nodes, options, outliers)) {
    observation.why =
        absl::StrCat(names.size(), " nodes are too few to compare, or too little of them is known");
  } else {
    // Fewer than its peers is nothing to blame.
    const auto worst = std::find_if(outliers.begin(), outliers.end(),
                                    [](const series::Outlier& o) { return o.score > 0; });
    if (worst == outliers.end()) {
      observation.value = std::string(kNone);
    } else if (names[worst->entity].empty()) {
      observation.why = "there is one that differs, but its labels name no node";
    } else {
      observation.place.node = names[worst->entity];
      observation.value = names[worst->entity];
      observation.why =
          absl::StrCat(worst->value, " a second beside ", worst->peers, " of its peers");
    }
  }
  examination.observations.push_back(std::move(observation));
  return examination;
}

absl::StatusOr<Examination> ExamineLinkEvents(Source& source, const Rules& rules,
                                              const Window& window, const Call& call) {
  Examination examination;
  GALEN_ASSIGN_OR_RETURN(const Measured measured,
                         Ask(source, rules, "link_down", window, call, examination));
  PutGrowth(measured, "flaps", false, window.step, examination);
  return examination;
}

absl::StatusOr<Examination> ExamineStepTime(Source& source, const Rules& rules,
                                            const Window& window,
                                            const series::PeerOptions& options, const Call& call) {
  Examination examination;
  GALEN_ASSIGN_OR_RETURN(const Measured measured,
                         Ask(source, rules, "step_time", window, call, examination));
  std::vector<float> medians;
  for (std::size_t i = 0; i < measured.rows.size(); ++i)
    medians.push_back(series::Median(measured.values.Row(i)));
  const float usual = series::Median(medians);
  const bool comparable = series::KnownOf(medians).size() > options.least_peers && usual > 0;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    Observation observation{"slow_ratio", measured.rows[i].place, std::monostate(),
                            "too few ranks to compare, or nothing known of this one"};
    if (comparable && series::IsKnown(medians[i])) {
      observation.value = static_cast<double>(medians[i] / usual);
      observation.why = absl::StrCat(medians[i], " beside ", usual, " ", measured.quantity->unit);
    }
    examination.observations.push_back(std::move(observation));
  }
  std::vector<series::Outlier> outliers;
  Observation rank{"slow_rank", {}, std::monostate(), "too few ranks to compare"};
  Observation node{"follows_node", {}, std::monostate(), "too few ranks to compare"};
  if (Outliers(measured.values, options, outliers)) {
    rank.value = std::string(kNone);
    node.value = std::string(kNone);
    rank.why = node.why = "";
    std::set<std::string> nodes;
    const Place* slowest = nullptr;
    for (const series::Outlier& outlier : outliers) {
      if (outlier.score <= 0) continue;
      const Place& place = measured.rows[outlier.entity].place;
      if (slowest == nullptr) slowest = &place;
      nodes.insert(place.node);
    }
    if (slowest != nullptr) {
      rank.place = *slowest;
      rank.value = slowest->rank.empty() ? Shown(*slowest) : slowest->rank;
      if (nodes.size() == 1 && !slowest->node.empty()) {
        node.place.node = slowest->node;
        node.value = slowest->node;
      }
    }
  }
  examination.observations.push_back(std::move(rank));
  examination.observations.push_back(std::move(node));
  // What all ranks do together: the median of each point.
  std::vector<float> together(measured.grid.size, series::kUnknown);
  std::vector<float> column(measured.rows.size());
  for (std::size_t t = 0; t < together.size(); ++t) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = measured.values.Row(i)[t];
    together[t] = series::Median(column);
  }
  const series::Trend trend = series::TrendOf(together);
  Observation decay{"decay_over_time", {}, std::monostate(), "too few points"};
  if (trend.direction != series::Direction::kUndecided) {
    decay.value = trend.leaks;
    decay.why = absl::StrCat("grows by ", trend.growth, " ", measured.quantity->unit,
                             " over the window, by chance with probability ", trend.chance);
  }
  examination.observations.push_back(std::move(decay));
  return examination;
}

}  // namespace galen::telemetry
