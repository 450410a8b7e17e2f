#include "services/execution/playbook/examine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/named_source.h"
#include "common/timeseries/align.h"
#include "common/timeseries/frozen.h"
#include "services/execution/playbook/jobs.h"
#include "services/execution/playbook/series_test_parts.h"
#include "services/execution/playbook/series_tests.h"

namespace galen::playbook {
namespace {

using telemetry::Call;
using telemetry::Measured;
using telemetry::Place;
using telemetry::Source;

constexpr char kThroughput[] = "throughput";
constexpr char kStepTime[] = "step_time";
constexpr char kPower[] = "gpu_power";
constexpr char kSent[] = "rdma_sent";
constexpr char kTrainingStep[] = "training_step";
constexpr absl::Duration kStep = absl::Seconds(15);
constexpr std::int64_t kMostPoints = 4000;
// A sample speaks for so long: of an exporter that is asked once a minute one may be missing.
constexpr absl::Duration kMostAge = absl::Seconds(150);
// A job that makes no step for so long has ended, and what comes then is another run.
constexpr absl::Duration kBetweenRuns = absl::Minutes(10);
constexpr absl::Duration kLeastRun = absl::Minutes(10);
// A ghost: what is never constant stands still for so many points while others move.
constexpr std::size_t kGhost = 20;
constexpr std::size_t kMostRemarks = 32;

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

// Everything that one examination asks, each once.
class Measurer {
 public:
  struct Of {
    absl::StatusOr<std::shared_ptr<const Rows>> rows;
    std::vector<telemetry::Answer> answers;
    std::vector<std::string> remarks;
    bool complete = true;
  };

  // `named`: what names no machine is nobody's.
  Measurer(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules, Source& source,
           telemetry::Range range, std::vector<std::string> nodes, bool named, const Call& call)
      : catalogue_(catalogue),
        rules_(rules),
        source_(source),
        range_(range),
        nodes_(std::move(nodes)),
        named_(named),
        call_(call) {}

  const telemetry::Range& range() const { return range_; }

  bool IsOurs(const Place& place) const {
    if (place.node.empty()) return !named_;
    if (nodes_.empty()) return true;
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const std::string& node) {
      return named_ ? node == place.node : SameNode(node, place.node);
    });
  }
  // As the incident names it.
  Place Ours(Place place) const {
    for (const std::string& node : nodes_) {
      if (SameNode(node, place.node)) place.node = node;
    }
    return place;
  }

  // Errors but NOT_FOUND and UNIMPLEMENTED, which are part of what is known, end the examination.
  absl::StatusOr<const Of*> Get(const std::string& name) {
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

 private:
  Of Ask(const std::string& name) {
    Of of;
    const Query* const query = catalogue_.FindQuery(name);
    of.rows = query == nullptr ? Quantity(name, of) : Evaluated(*query, of);
    return of;
  }

  // The names of others are not told: they may be another customer's.
  absl::StatusOr<std::shared_ptr<const Rows>> Keep(const std::string& name, Rows all) {
    if (!all.places.empty()) return std::make_shared<const Rows>(std::move(all));
    return absl::NotFoundError(
        absl::StrCat(source_.name(), ": has ", name,
                     " of other machines alone; the incident has to name its machines as telemetry "
                     "does"));
  }

  absl::StatusOr<std::shared_ptr<const Rows>> Quantity(const std::string& name, Of& of) {
    GALEN_ASSIGN_OR_RETURN(
        Measured measured,
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

  absl::StatusOr<std::shared_ptr<const Rows>> Evaluated(const Query& query, Of& of) {
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

  const PlaybookCatalogue& catalogue_;
  const telemetry::Rules& rules_;
  Source& source_;
  const telemetry::Range range_;
  const std::vector<std::string> nodes_;
  const bool named_;
  const Call& call_;
  std::map<std::string, Of> known_;
};

// The metrics that some playbook looks at.
std::set<std::string> ReadBy(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules) {
  std::set<std::string> read;
  for (const Playbook& playbook : catalogue.playbooks) {
    for (const Step& step : playbook.steps) {
      for (const std::string& name : step.of) {
        const telemetry::Quantity* const quantity = rules.Find(name);
        if (quantity == nullptr) continue;
        for (const telemetry::MetricOf& of : quantity->metrics) read.insert(of.metric);
      }
    }
  }
  return read;
}

telemetry::Range RangeOf(const Times& times, absl::Duration step) {
  if (step <= absl::ZeroDuration()) {
    step = std::max(kStep, absl::Ceil((times.end - times.start) / kMostPoints, absl::Seconds(1)));
  }
  return {times.start, times.end, step};
}

// Null: it is not known.
absl::StatusOr<std::shared_ptr<const Rows>> RowsOrNull(Measurer& measurer,
                                                       const std::string& name) {
  GALEN_ASSIGN_OR_RETURN(const Measurer::Of* of, measurer.Get(name));
  return of->rows.ok() ? *of->rows : nullptr;
}

// Throughput, or what step time says of it.
absl::StatusOr<std::shared_ptr<const Rows>> ThroughputOf(Measurer& measurer) {
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const Rows> rows, RowsOrNull(measurer, kThroughput));
  if (rows != nullptr) return rows;
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> times, RowsOrNull(measurer, kStepTime));
  if (times == nullptr) return rows;
  Rows steps = *times;
  steps.name = kThroughput;
  steps.unit = "steps/s";
  for (std::size_t i = 0; i < steps.places.size(); ++i) {
    for (float& value : steps.values.Row(i)) value = value > 0 ? 1 / value : timeseries::kUnknown;
  }
  return std::make_shared<const Rows>(std::move(steps));
}

absl::StatusOr<JobActivity> JobActivityOf(Measurer& measurer) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> throughput, ThroughputOf(measurer));
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> steps,
                         RowsOrNull(measurer, kTrainingStep));
  GALEN_ASSIGN_OR_RETURN(
      const timeseries::Grid grid,
      timeseries::MakeGrid(measurer.range().start, measurer.range().end, measurer.range().step));
  return MakeJobActivity(grid, throughput.get(), steps.get());
}

void Remark(std::vector<std::string>& remarks, std::string remark) {
  if (remarks.size() < kMostRemarks &&
      std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) {
    remarks.push_back(std::move(remark));
  }
}

// How much an outcome says that something is wrong: of several counters of one fault the one that
// moves speaks, and one of which nothing is known leaves open whether anything is.
double Weight(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 2 : 0;
  if (const std::string* text = std::get_if<std::string>(&value)) return *text == kNobody ? 0 : 2;
  if (const double* number = std::get_if<double>(&value)) return *number > 0 ? 2 + *number : 0;
  return 1;
}

class Examiner {
 public:
  Examiner(Measurer& now, Measurer* before, std::shared_ptr<const JobActivity> activity)
      : now_(now), before_(before), activity_(std::move(activity)) {}

  absl::StatusOr<Examination> Run(const std::string& check, const std::vector<const Step*>& steps) {
    Examination examination;
    examination.check = check;
    examination.activity = activity_;
    absl::Status missing;
    std::set<std::string> cited;
    bool any = false;
    for (const Step* step : steps) {
      GALEN_ASSIGN_OR_RETURN(const absl::Status ran, RunStep(*step, examination, cited));
      any = any || ran.ok();
      if (!ran.ok() && missing.ok()) missing = ran;
    }
    if (steps.empty()) {
      missing = absl::FailedPreconditionError(
          absl::StrCat("no playbook answers ", check, " (knowledge/playbooks)"));
    }
    if (!any) examination.status = missing;
    return examination;
  }

 private:
  // OK: something was told. NOT_FOUND: nothing was, and why.
  absl::StatusOr<absl::Status> RunStep(const Step& step, Examination& examination,
                                       std::set<std::string>& cited) {
    const SeriesTest& test = *FindSeriesTest(step.test);
    SeriesTestInput input{*activity_, {}, {}, step.numbers, &test};
    std::vector<std::shared_ptr<const Rows>> keep;
    std::vector<Rows> singly;  // of a step with one measure
    for (const std::string& name : step.of) {
      GALEN_ASSIGN_OR_RETURN(const Measurer::Of* of, now_.Get(name));
      if (cited.insert(name).second) {
        examination.answers.insert(examination.answers.end(), of->answers.begin(),
                                   of->answers.end());
        for (const std::string& remark : of->remarks) Remark(examination.remarks, remark);
        examination.complete = examination.complete && of->complete;
      }
      if (!of->rows.ok()) {
        examination.observations.push_back(
            {&step, {}, std::monostate(), std::string(of->rows.status().message()), nullptr, -1});
        return absl::NotFoundError(std::string(of->rows.status().message()));
      }
      if (step.of.size() == 1 && !(*of->rows)->metrics.empty()) {
        singly = Singly(**of->rows);
        continue;
      }
      keep.push_back(std::make_shared<const Rows>(Together(**of->rows, step.over, step.combine)));
      input.of.push_back(keep.back().get());
    }
    if (before_ != nullptr) {
      // A step without measures compares throughput.
      const std::vector<std::string> of = step.of.empty() ? std::vector<std::string>{""} : step.of;
      for (const std::string& name : of) {
        GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> rows,
                               name.empty() ? ThroughputOf(*before_) : RowsOrNull(*before_, name));
        if (rows == nullptr) {
          input.before.clear();
          break;
        }
        keep.push_back(std::make_shared<const Rows>(Together(*rows, step.over, step.combine)));
        input.before.push_back(keep.back().get());
      }
    }
    std::vector<Observation> seen;
    if (singly.empty()) {
      Add(step, test.run(input), keep.empty() ? nullptr : keep.front(), seen);
    }
    for (const Rows& rows : singly) {
      const auto first = std::make_shared<const Rows>(Together(rows, step.over, step.combine));
      input.of = {first.get()};
      Add(step, test.run(input), first, seen);
    }
    bool told = false;
    for (Observation& observation : seen) {
      told = told || !std::holds_alternative<std::monostate>(observation.value);
      examination.observations.push_back(std::move(observation));
    }
    if (told) return absl::OkStatus();
    // A quantity without a result counts as missing.
    return absl::NotFoundError(examination.observations.empty()
                                   ? absl::StrCat(step.finding, ": of no machine")
                                   : examination.observations.back().why);
  }

  // Keeps the weightiest of several observations of one place.
  static void Add(const Step& step, std::vector<SeriesTestResult> more,
                  const std::shared_ptr<const Rows>& rows, std::vector<Observation>& all) {
    for (SeriesTestResult& seen : more) {
      Observation observation{
          &step, std::move(seen.place), std::move(seen.value), std::move(seen.why), rows, seen.row};
      const auto same = std::find_if(all.begin(), all.end(), [&](const Observation& other) {
        return other.place == observation.place;
      });
      if (same == all.end()) {
        all.push_back(std::move(observation));
      } else if (Weight(observation.value) > Weight(same->value)) {
        *same = std::move(observation);
      }
    }
  }

  Measurer& now_;
  Measurer* const before_;
  const std::shared_ptr<const JobActivity> activity_;
};

}  // namespace

bool SameNode(absl::string_view one, absl::string_view other) {
  if (one == other) return true;
  const auto host = [](absl::string_view name) { return name.substr(0, name.find('.')); };
  const bool full =
      one.find('.') != absl::string_view::npos && other.find('.') != absl::string_view::npos;
  // Two addresses, or two full names, are one only where they are equal.
  return !full && !host(one).empty() && host(one) == host(other);
}

Times WindowOf(const Request& request) {
  Times times = request.window;
  const bool bounded = request.extent.end != absl::InfiniteFuture();
  if (times.end == absl::InfiniteFuture()) times.end = bounded ? request.extent.end : request.now;
  times.end = std::min(times.end, bounded ? request.extent.end : request.now);
  times.start = times.start == absl::InfinitePast()
                    ? times.end - absl::Hours(6)
                    : std::min(times.start, times.end - absl::Hours(1));
  times.start = std::max(times.start, request.extent.start);
  return times;
}

absl::StatusOr<std::vector<Examination>> Examine(const PlaybookCatalogue& catalogue,
                                                 const telemetry::Rules& rules, Source& source,
                                                 const Request& request, const Call& call) {
  Times window = WindowOf(request);
  if (window.end - window.start < absl::Minutes(1)) {
    return absl::NotFoundError(
        absl::StrCat(source.name(), ": has nothing of the time of the incident",
                     request.extent.end == absl::InfiniteFuture()
                         ? ""
                         : absl::StrCat("; what it has ends at ", Day(request.extent.end))));
  }
  std::optional<Times> baseline = request.baseline;
  Times named_in = window;
  if (baseline.has_value()) {
    named_in.start = std::min(named_in.start, baseline->start);
    named_in.end = std::max(named_in.end, baseline->end);
  }
  GALEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<telemetry::NamedSource> named,
      telemetry::NamedSource::Open(source, rules, named_in.start, named_in.end, call));
  std::vector<std::string> remarks;
  std::vector<std::string> nodes = request.nodes;
  std::vector<std::string> baseline_nodes = request.baseline_nodes;
  const auto measurer = [&](const Times& times, const std::vector<std::string>& of) {
    return std::make_unique<Measurer>(catalogue, rules, *named, RangeOf(times, request.step), of,
                                      request.named, call);
  };
  auto now = measurer(window, nodes);
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> throughput, ThroughputOf(*now));
  if (!baseline.has_value() && throughput != nullptr) {
    std::vector<Run> runs = RunsOf(*throughput, kBetweenRuns);
    const auto length = [&](const Run& run) {
      return static_cast<std::int64_t>(run.end - run.begin) * throughput->grid.step;
    };
    runs.erase(std::remove_if(runs.begin(), runs.end(),
                              [&](const Run& run) { return length(run) < kLeastRun; }),
               runs.end());
    TwoJobs jobs;
    for (const char* const follows : {kPower, kSent}) {
      GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> rows, RowsOrNull(*now, follows));
      if (rows != nullptr) jobs = FindTwoJobs(*throughput, *rows);
      if (jobs.slower.empty() || !jobs.slower_nodes.empty()) break;
    }
    if (!jobs.slower.empty()) {
      const bool told = !jobs.slower_nodes.empty() && !jobs.faster_nodes.empty();
      remarks.push_back(
          told ? absl::StrCat("two jobs ran at the same time: ", jobs.slower,
                              ", the slower one, on ", jobs.slower_nodes.size(),
                              " machines, is compared with ", jobs.faster, " on ",
                              jobs.faster_nodes.size())
               : absl::StrCat("jobs ", jobs.slower, " and ", jobs.faster,
                              " ran at the same time, and "
                              "which machine worked for which is not known: name the machines of "
                              "one, and those of the other as baseline"));
      if (told) {
        baseline = window;
        nodes = std::move(jobs.slower_nodes);
        baseline_nodes = std::move(jobs.faster_nodes);
        now = measurer(window, nodes);
      }
    } else if (runs.size() >= 2) {
      const timeseries::Grid& grid = throughput->grid;
      const Run& before = runs[runs.size() - 2];
      const Run& last = runs.back();
      baseline = Times{grid.At(before.begin), grid.At(before.end)};
      window.start = grid.At(last.begin);
      remarks.push_back(absl::StrCat("the window holds ", runs.size(), " runs: the last one, from ",
                                     Day(window.start), ", is compared with the one from ",
                                     Day(baseline->start), " to ", Day(baseline->end)));
      now = measurer(window, nodes);
    }
  }
  GALEN_ASSIGN_OR_RETURN(JobActivity made, JobActivityOf(*now));
  const auto activity = std::make_shared<const JobActivity>(std::move(made));
  if (baseline_nodes.empty()) baseline_nodes = nodes;
  std::unique_ptr<Measurer> before;
  if (baseline.has_value() && baseline->end > baseline->start) {
    before = measurer(*baseline, baseline_nodes);
  }
  remarks.insert(remarks.begin(),
                 absl::StrCat("from ", Day(window.start), " to ", Day(window.end)));
  bool all_counters = true;
  GALEN_ASSIGN_OR_RETURN(
      std::vector<telemetry::GrowingError> growing,
      telemetry::FindGrowingErrors(
          *named, rules, window.start, window.end, ReadBy(catalogue, rules),
          [&](const Place& place) { return now->IsOurs(place); }, call, all_counters));
  for (telemetry::GrowingError& error : growing) error.place = now->Ours(std::move(error.place));
  if (!all_counters) {
    remarks.push_back("not all unmapped error counters were examined");
  }
  const auto unread =
      std::make_shared<const std::vector<telemetry::GrowingError>>(std::move(growing));
  Examiner examiner(*now, before.get(), activity);
  std::vector<Examination> examinations;
  for (const std::string& check : request.checks) {
    GALEN_ASSIGN_OR_RETURN(Examination examination, examiner.Run(check, catalogue.StepsOf(check)));
    examination.remarks.insert(examination.remarks.begin(), remarks.begin(), remarks.end());
    examination.unread = unread;
    examination.complete = examination.complete && all_counters;
    examinations.push_back(std::move(examination));
  }
  return examinations;
}

absl::StatusOr<std::vector<std::string>> NodesOf(const telemetry::Rules& rules, Source& source,
                                                 const Times& times, std::size_t most,
                                                 const Call& call) {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<telemetry::NamedSource> named,
                         telemetry::NamedSource::Open(source, rules, times.start, times.end, call));
  GALEN_ASSIGN_OR_RETURN(const telemetry::Inventory inventory,
                         telemetry::Discover(*named, rules, times.start, times.end, {}, call));
  std::set<std::string> nodes;
  std::set<std::string> asked;  // of which nothing but that they were asked is known
  for (const telemetry::FamilyFound& found : inventory.families) {
    const auto family = std::find_if(rules.families.begin(), rules.families.end(),
                                     [&](const auto& each) { return each.name == found.family; });
    // That somebody was asked says nothing of what it is: a dashboard is asked, too.
    const bool machine = family != rules.families.end() && family->device != "exporter";
    (machine ? nodes : asked).insert(found.nodes.begin(), found.nodes.end());
  }
  if (nodes.empty()) nodes = std::move(asked);
  nodes.erase("");
  std::vector<std::string> some;
  for (const std::string& node : nodes) {
    // A full name and its first part are one, where there is one such full name.
    const auto others = std::count_if(nodes.begin(), nodes.end(), [&](const std::string& other) {
      return other != node && SameNode(node, other);
    });
    const bool full = node.find('.') != std::string::npos;
    if (full && others == 1 && nodes.contains(node.substr(0, node.find('.')))) continue;
    some.push_back(node);
  }
  if (some.size() > most) some.resize(most);
  return some;
}

}  // namespace galen::playbook
