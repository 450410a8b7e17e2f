#include "services/execution/playbook/examine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/named_source.h"
#include "common/timeseries/grid.h"
#include "services/execution/playbook/jobs.h"
#include "services/execution/playbook/measurer.h"
#include "services/execution/playbook/series_test_parts.h"
#include "services/execution/playbook/series_tests.h"

namespace galen::playbook {
namespace {

using telemetry::Call;
using telemetry::Place;
using telemetry::Source;

constexpr char kThroughput[] = "throughput";
constexpr char kStepTime[] = "step_time";
constexpr char kPower[] = "gpu_power";
constexpr char kSent[] = "rdma_sent";
constexpr char kTrainingStep[] = "training_step";
constexpr absl::Duration kStep = absl::Seconds(15);
constexpr std::int64_t kMostPoints = 4000;
// A job that makes no step for so long has ended, and what comes then is another run.
constexpr absl::Duration kBetweenRuns = absl::Minutes(10);
constexpr absl::Duration kLeastRun = absl::Minutes(10);
constexpr std::size_t kMostRemarks = 32;

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

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

// The times and machines that are examined, and those that they are compared with.
struct Compared {
  Times window;
  std::vector<std::string> nodes;
  std::optional<Times> baseline;
  std::vector<std::string> baseline_nodes;  // empty: the same
  std::vector<std::string> remarks;
};

// Chooses a baseline of the window itself, if it has one: the faster of two jobs that ran side by
// side, or else the run before the last one.
absl::Status ChooseBaseline(Measurer& now, const Rows& throughput, Compared& compared) {
  TwoJobs jobs;
  for (const char* const follows : {kPower, kSent}) {
    GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> rows, RowsOrNull(now, follows));
    if (rows != nullptr) jobs = FindTwoJobs(throughput, *rows);
    if (jobs.slower.empty() || !jobs.slower_nodes.empty()) break;
  }
  if (!jobs.slower.empty()) {
    if (jobs.slower_nodes.empty() || jobs.faster_nodes.empty()) {
      compared.remarks.push_back(
          absl::StrCat("jobs ", jobs.slower, " and ", jobs.faster,
                       " ran at the same time, and which machine worked for which is not known: "
                       "name the machines of one, and those of the other as baseline"));
      return absl::OkStatus();
    }
    compared.remarks.push_back(absl::StrCat("two jobs ran at the same time: ", jobs.slower,
                                            ", the slower one, on ", jobs.slower_nodes.size(),
                                            " machines, is compared with ", jobs.faster, " on ",
                                            jobs.faster_nodes.size()));
    compared.baseline = compared.window;
    compared.nodes = std::move(jobs.slower_nodes);
    compared.baseline_nodes = std::move(jobs.faster_nodes);
    return absl::OkStatus();
  }
  const timeseries::Grid& grid = throughput.grid;
  std::vector<Run> runs = RunsOf(throughput, kBetweenRuns);
  const auto length = [&](const Run& run) {
    return static_cast<std::int64_t>(run.end - run.begin) * grid.step;
  };
  runs.erase(std::remove_if(runs.begin(), runs.end(),
                            [&](const Run& run) { return length(run) < kLeastRun; }),
             runs.end());
  if (runs.size() < 2) return absl::OkStatus();
  const Run& before = runs[runs.size() - 2];
  compared.baseline = Times{grid.At(before.begin), grid.At(before.end)};
  compared.window.start = grid.At(runs.back().begin);
  compared.remarks.push_back(
      absl::StrCat("the window holds ", runs.size(), " runs: the last one, from ",
                   Day(compared.window.start), ", is compared with the one from ",
                   Day(compared.baseline->start), " to ", Day(compared.baseline->end)));
  return absl::OkStatus();
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
  const Times window = WindowOf(request);
  if (window.end - window.start < absl::Minutes(1)) {
    return absl::NotFoundError(
        absl::StrCat(source.name(), ": has nothing of the time of the incident",
                     request.extent.end == absl::InfiniteFuture()
                         ? ""
                         : absl::StrCat("; what it has ends at ", Day(request.extent.end))));
  }
  Times named_in = window;
  if (request.baseline.has_value()) {
    named_in.start = std::min(named_in.start, request.baseline->start);
    named_in.end = std::max(named_in.end, request.baseline->end);
  }
  GALEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<telemetry::NamedSource> named,
      telemetry::NamedSource::Open(source, rules, named_in.start, named_in.end, call));
  Compared compared{window, request.nodes, request.baseline, request.baseline_nodes, {}};
  const auto measurer = [&](const Times& times, const std::vector<std::string>& of) {
    return std::make_unique<Measurer>(catalogue, rules, *named, RangeOf(times, request.step), of,
                                      request.named, call);
  };
  auto now = measurer(compared.window, compared.nodes);
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> throughput, ThroughputOf(*now));
  if (!compared.baseline.has_value() && throughput != nullptr) {
    GALEN_RETURN_IF_ERROR(ChooseBaseline(*now, *throughput, compared));
    if (compared.baseline.has_value()) now = measurer(compared.window, compared.nodes);
  }
  GALEN_ASSIGN_OR_RETURN(JobActivity made, JobActivityOf(*now));
  const auto activity = std::make_shared<const JobActivity>(std::move(made));
  std::unique_ptr<Measurer> before;
  if (compared.baseline.has_value() && compared.baseline->end > compared.baseline->start) {
    before = measurer(*compared.baseline,
                      compared.baseline_nodes.empty() ? compared.nodes : compared.baseline_nodes);
  }
  const auto [start, end] = compared.window;
  std::vector<std::string> remarks = std::move(compared.remarks);
  remarks.insert(remarks.begin(), absl::StrCat("from ", Day(start), " to ", Day(end)));
  bool all_counters = true;
  GALEN_ASSIGN_OR_RETURN(
      std::vector<telemetry::GrowingError> growing,
      telemetry::FindGrowingErrors(
          *named, rules, start, end, ReadBy(catalogue, rules),
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
