#include "services/execution/playbook/measurer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/telemetry/discovery.h"
#include "common/timeseries/align.h"
#include "common/timeseries/frozen.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using telemetry::Measured;
using telemetry::Place;

// A sample speaks for so long: of an exporter that is asked once a minute one may be missing.
constexpr absl::Duration kMostAge = absl::Seconds(150);
// A ghost: what is never constant stands still for so many points while others move.
constexpr std::size_t kGhost = 20;

}  // namespace

bool SameNode(absl::string_view one, absl::string_view other) {
  if (one == other) return true;
  const auto host = [](absl::string_view name) { return name.substr(0, name.find('.')); };
  const bool full =
      one.find('.') != absl::string_view::npos && other.find('.') != absl::string_view::npos;
  // Two addresses, or two full names, are one only where they are equal.
  return !full && !host(one).empty() && host(one) == host(other);
}

Measurer::Measurer(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules,
                   telemetry::Source& source, telemetry::Range range,
                   std::vector<std::string> nodes, bool named, const telemetry::Call& call)
    : catalogue_(catalogue),
      rules_(rules),
      source_(source),
      range_(range),
      nodes_(std::move(nodes)),
      named_(named),
      call_(call) {}

bool Measurer::IsOurs(const Place& place) const {
  // Series that name no machine belong to nobody.
  if (place.node.empty()) return !named_;
  if (nodes_.empty()) return true;
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const std::string& node) {
    return named_ ? node == place.node : SameNode(node, place.node);
  });
}

Place Measurer::Ours(Place place) const {
  for (const std::string& node : nodes_) {
    if (SameNode(node, place.node)) place.node = node;
  }
  return place;
}

absl::StatusOr<const Measurer::Of*> Measurer::Get(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return &known->second;
  Of of = Ask(name);
  const absl::StatusCode code = of.rows.status().code();
  if (!of.rows.ok() && code != absl::StatusCode::kNotFound &&
      code != absl::StatusCode::kUnimplemented) {
    return of.rows.status();
  }
  return &known_.emplace(name, std::move(of)).first->second;
}

Measurer::Of Measurer::Ask(const std::string& name) {
  Of of;
  const Query* const query = catalogue_.FindQuery(name);
  of.rows = query == nullptr ? Quantity(name, of) : Evaluated(*query, of);
  return of;
}

absl::StatusOr<std::shared_ptr<const Rows>> Measurer::Keep(const std::string& name,
                                                           Rows all) const {
  if (!all.places.empty()) return std::make_shared<const Rows>(std::move(all));
  return absl::NotFoundError(
      absl::StrCat(source_.name(), ": has ", name,
                   " of other machines alone; the incident has to name its machines as telemetry "
                   "does"));
}

absl::StatusOr<std::shared_ptr<const Rows>> Measurer::Quantity(const std::string& name, Of& of) {
  GALEN_ASSIGN_OR_RETURN(Measured measured,
                         telemetry::Measure(source_, rules_, name, range_, kMostAge, call_,
                                            [this](const Place& place) { return IsOurs(place); }));
  of.complete = measured.complete;
  of.answers = std::move(measured.answers);
  of.remarks = std::move(measured.warnings);
  for (const telemetry::Answer& answer : of.answers) {
    for (const std::string& warning : answer.warnings) {
      of.remarks.push_back(absl::StrCat(answer.query, ": ", warning));
    }
  }
  if (measured.quantity->never_constant) {
    const auto ghosts = timeseries::FindGhosts(measured.values, {.least_samples = kGhost});
    for (const timeseries::Ghost& ghost : ghosts) {
      of.remarks.push_back(absl::StrCat(
          Shown(measured.rows[ghost.entity].place), ": ", name, " stands still from ",
          Clock(measured.grid, ghost.begin), " to ", Clock(measured.grid, ghost.end - 1),
          " while that of others moves: its collector hung; left out"));
    }
    timeseries::Forget(ghosts, measured.values);
  }
  Rows rows{name, measured.quantity->unit, measured.quantity->counter, measured.grid, {}, {0, 0},
            {}};
  rows.values = std::move(measured.values);
  for (const Measured::Row& row : measured.rows) {
    rows.places.push_back(Ours(row.place));
    if (measured.quantity->among == telemetry::Among::kSingly) rows.metrics.push_back(row.metric);
  }
  if (rows.counter) rows.unit = absl::StrCat(rows.unit, "/s");
  return Keep(name, std::move(rows));
}

absl::StatusOr<std::shared_ptr<const Rows>> Measurer::Evaluated(const Query& query, Of& of) {
  if (!source_.evaluates()) {
    return absl::UnimplementedError(
        absl::StrCat(query.name, ": is a question in PromQL, which a bundle cannot answer"));
  }
  GALEN_ASSIGN_OR_RETURN(telemetry::Answer answer, source_.RangeOf(query.promql, range_, call_));
  GALEN_ASSIGN_OR_RETURN(const timeseries::Grid grid,
                         timeseries::MakeGrid(range_.start, range_.end, range_.step));
  Rows rows{query.name, query.unit, false, grid, {}, {0, 0}, {}};
  of.complete = answer.complete;
  std::vector<std::size_t> ours;
  std::vector<Place> places;
  for (std::size_t i = 0; i < answer.series.size(); ++i) {
    places.push_back(rules_.PlaceOf(answer.series[i].labels));
    if (IsOurs(places.back())) ours.push_back(i);
  }
  rows.values = timeseries::Panel(ours.size(), grid.size);
  for (const std::size_t i : ours) {
    const timeseries::Series on_grid =
        timeseries::Align(answer.series[i].samples, grid, {.most_age = range_.step});
    std::copy(on_grid.values.begin(), on_grid.values.end(),
              rows.values.Row(rows.places.size()).begin());
    rows.places.push_back(Ours(places[i]));
  }
  for (telemetry::TimeSeries& series : answer.series) series.samples.clear();
  for (const std::string& warning : answer.warnings) {
    of.remarks.push_back(absl::StrCat(answer.query, ": ", warning));
  }
  const bool nothing = answer.series.empty();
  of.answers.push_back(std::move(answer));
  if (nothing) {
    return absl::NotFoundError(absl::StrCat(source_.name(), ": nothing for ", query.promql));
  }
  return Keep(query.name, std::move(rows));
}

}  // namespace galen::playbook
