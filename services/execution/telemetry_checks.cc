#include "services/execution/telemetry_checks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/host/bundle.h"
#include "common/host/bundle_files.h"
#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/telemetry/open_metrics_source.h"
#include "services/execution/job_logs/log_series.h"
#include "services/execution/job_logs/overlay_source.h"
#include "services/execution/job_logs/run_series.h"
#include "services/execution/playbook/results.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

constexpr std::size_t kMostQueuedQueries = 256;
constexpr std::size_t kMostKept = 2;
constexpr absl::Duration kKept = absl::Minutes(1);
constexpr absl::Duration kNodesTime = absl::Seconds(10);
constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostSniffed = 1000;

// The request's time window and baseline.
playbook::Request RequestOf(const v1::RunChecksRequest& request) {
  playbook::Request out;
  if (request.has_start_time()) out.window.start = ToTime(request.start_time());
  if (request.has_end_time()) out.window.end = ToTime(request.end_time());
  const galen::v1::Baseline& baseline = request.baseline();
  if (baseline.has_start_time() && baseline.has_end_time()) {
    out.baseline = playbook::Times{ToTime(baseline.start_time()), ToTime(baseline.end_time())};
    out.baseline_nodes.assign(baseline.nodes().begin(), baseline.nodes().end());
  }
  return out;
}

// The files of the job's logs in a bundle, and those of tools, which may be numbers of a run.
std::vector<std::string> LogsOf(const std::string& path) {
  std::vector<std::string> logs;
  const absl::StatusOr<std::shared_ptr<const host::Bundle>> bundle = host::Bundle::Open(path);
  if (!bundle.ok()) return logs;
  const absl::StatusOr<host::BundleFiles> files = host::BundleFiles::Open((*bundle)->root());
  if (!files.ok()) return logs;
  for (const galen::v1::LogSource& log : (*bundle)->incident().logs()) {
    const bool is_run = log.kind() == galen::v1::LogSource::TOOL;
    const bool of_job = log.kind() == galen::v1::LogSource::JOB ||
                        log.kind() == galen::v1::LogSource::KIND_UNSPECIFIED;
    auto real = files->Resolve(absl::StrCat("logs/", log.path()));
    if (!real.ok() || (is_run && !job_logs::IsRun(*real))) continue;
    if (of_job || is_run) logs.push_back(*std::move(real));
  }
  return logs;
}

absl::StatusOr<job_logs::RunFiles> RunsOf(const std::string& path, const telemetry::Call& call) {
  return job_logs::SeriesOfRuns(LogsOf(path), call);
}

}  // namespace

absl::StatusOr<TelemetryChecks::Options> TelemetryChecks::Load(
    const std::vector<std::string>& directories,
    const std::vector<telemetry::SourceAddress>& sources) {
  Options options;
  GALEN_ASSIGN_OR_RETURN(options.rules, telemetry::LoadRules(directories));
  GALEN_ASSIGN_OR_RETURN(options.playbooks, playbook::LoadPlaybooks(directories));
  absl::StatusOr<triage::Catalogue> logs = triage::LoadCatalogue(directories);
  if (logs.ok()) {
    options.logs = std::make_shared<const triage::Catalogue>(*std::move(logs));
  } else if (!absl::IsNotFound(logs.status())) {
    return logs.status();
  }
  if (sources.empty()) return options;
  GALEN_ASSIGN_OR_RETURN(telemetry::OpenedSource opened, telemetry::OpenSources(sources));
  options.live = Opened{std::move(opened.source), {opened.first, opened.last}, std::nullopt};
  return options;
}

TelemetryChecks::TelemetryChecks(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      pool_(std::make_unique<ThreadPool>(options_.threads, kMostQueuedQueries)) {}

TelemetryChecks::~TelemetryChecks() {
  {
    const MutexLock lock(mu_);
    closing_.Cancel();
    for (const std::weak_ptr<Cancellation>& call : running_) {
      if (const auto alive = call.lock()) alive->Cancel();
    }
  }
  pool_.reset();
}

absl::StatusOr<TelemetryChecks::Opened> TelemetryChecks::OpenFiles(
    const std::string& path, const telemetry::Call& call) const {
  GALEN_ASSIGN_OR_RETURN(const host::BundleFiles files, host::BundleFiles::Open(path));
  GALEN_ASSIGN_OR_RETURN(
      std::unique_ptr<telemetry::OpenMetricsSource> source,
      telemetry::OpenMetricsSource::Open(files, std::nullopt, telemetry::FileLimits(), call));
  Opened opened;
  if (const auto span = source->span(); span.has_value()) {
    opened.extent = {span->first, span->last};
  }
  opened.source = std::move(source);
  return opened;
}

std::shared_ptr<const triage::CompiledCatalogue> TelemetryChecks::Compiled(
    const knowledge::Knowledge& knowledge) {
  {
    const MutexLock lock(mu_);
    if (compiled_ != nullptr) return compiled_;
  }
  auto made = triage::CompiledCatalogue::Create(*options_.logs, triage::SignaturesOf(knowledge),
                                                knowledge::DefaultCacheDirectory());
  if (!made.ok()) return nullptr;  // reported by `galen kb lint`
  const MutexLock lock(mu_);
  compiled_ = *std::move(made);
  return compiled_;
}

void TelemetryChecks::AddLogs(const knowledge::Knowledge& knowledge, job_logs::RunFiles runs,
                              absl::Time near, const telemetry::Call& call, Opened& opened) {
  std::vector<telemetry::TimeSeries> all = std::move(runs.series);
  if (options_.logs != nullptr && !runs.others.empty()) {
    const std::shared_ptr<const triage::CompiledCatalogue> compiled = Compiled(knowledge);
    if (compiled != nullptr) {
      auto series = job_logs::SeriesOfLogs(*compiled, runs.others, near, call);
      // Logs without a step are logs all the same: the numbers of exporters stand alone then.
      if (series.ok()) std::move(series->begin(), series->end(), std::back_inserter(all));
    }
  }
  if (all.empty()) return;
  playbook::Times logged{absl::InfiniteFuture(), absl::InfinitePast()};
  for (const telemetry::TimeSeries& each : all) {
    for (const timeseries::Sample& sample : each.samples) {
      const absl::Time at = absl::FromUnixMillis(sample.at);
      logged.start = std::min(logged.start, at);
      logged.end = std::max(logged.end, at);
    }
  }
  if (logged.start > logged.end) return;
  opened.logged = logged;
  opened.source = std::make_shared<job_logs::OverlaySource>(opened.source, std::move(all));
}

absl::StatusOr<TelemetryChecks::Opened> TelemetryChecks::Open(const knowledge::Knowledge& knowledge,
                                                              const std::string& bundle,
                                                              absl::Time near,
                                                              const telemetry::Call& call) {
  constexpr char kNone[] =
      "no time series: name a Prometheus server or its data folder (--prometheus), or put "
      "telemetry/*.om into the bundle";
  const bool live = options_.live.has_value() && (bundle.empty() || options_.live_for_bundles);
  if (bundle.empty() || options_.bundle_root == nullptr) {
    if (!live) return absl::NotFoundError(kNone);
    return *options_.live;
  }
  GALEN_ASSIGN_OR_RETURN(const std::string path, options_.bundle_root(bundle));
  {
    const MutexLock lock(mu_);
    const absl::Time now = SteadyNow();
    kept_.remove_if([&](const Kept& kept) { return now - kept.used > kKept; });
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->bundle != path) continue;
      it->used = now;
      kept_.splice(kept_.begin(), kept_, it);
      return it->opened;
    }
  }
  // Not under the lock: it may take long. Two calls at once read it twice.
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> unpacked,
                         host::Bundle::Open(path));
  GALEN_ASSIGN_OR_RETURN(job_logs::RunFiles runs, RunsOf(unpacked->root(), call));
  absl::StatusOr<Opened> opened = OpenFiles(unpacked->root(), call);
  if (absl::IsNotFound(opened.status())) {
    if (live) {
      opened = *options_.live;
    } else if (!runs.series.empty()) {
      // Only the run recorded numbers.
      opened = Opened{telemetry::OpenMetricsSource::OfText("the numbers of the run", "# EOF\n",
                                                           std::nullopt, telemetry::FileLimits()),
                      {},
                      std::nullopt};
    } else {
      return absl::NotFoundError(kNone);
    }
  }
  GALEN_RETURN_IF_ERROR(opened.status());
  AddLogs(knowledge, std::move(runs), near, call, *opened);
  const MutexLock lock(mu_);
  kept_.push_front({path, SteadyNow(), *opened});
  if (kept_.size() > kMostKept) kept_.pop_back();
  return opened;
}

clients::Cancel TelemetryChecks::Run(const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                                     const v1::RunChecksRequest& request,
                                     const std::set<std::string>& checks,
                                     const std::vector<std::string>& nodes, bool named,
                                     absl::Time deadline, const OnResult& on_result,
                                     absl::AnyInvocable<void() &&> done) {
  auto cancelled = std::make_shared<Cancellation>();
  {
    const MutexLock lock(mu_);
    running_.remove_if([](const std::weak_ptr<Cancellation>& call) { return call.expired(); });
    running_.push_back(cancelled);
  }
  playbook::Request question = RequestOf(request);
  question.checks.assign(checks.begin(), checks.end());
  question.nodes = nodes;
  question.now = clock_.Now();
  auto ended = std::make_shared<absl::AnyInvocable<void() &&>>(std::move(done));
  const bool taken = pool_->TrySchedule(
      [this, knowledge, question, nodes, named, bundle = request.bundle(), cancelled,
       until = std::min(ToSteady(deadline), SteadyNow() + options_.time), on_result,
       ended]() mutable {
        telemetry::Call call;
        call.deadline = until;
        call.cancellation = cancelled.get();
        absl::StatusOr<std::vector<playbook::Examination>> examined =
            std::vector<playbook::Examination>();
        const absl::StatusOr<Opened> opened =
            Open(*knowledge, bundle,
                 question.window.end == absl::InfiniteFuture() ? question.now : question.window.end,
                 call);
        if (opened.ok()) {
          question.extent = opened->extent;
          // Nobody said when: the log does.
          if (question.window.start == absl::InfinitePast() &&
              question.window.end == absl::InfiniteFuture() && opened->logged.has_value()) {
            question.window = *opened->logged;
          }
          question.named = named;
          examined = playbook::Examine(options_.playbooks, options_.rules, *opened->source,
                                       question, call);
        }
        absl::Status status = opened.ok() ? examined.status() : opened.status();
        // A server that ought to answer and does not is an error, not a thing that is not there.
        if (absl::IsUnavailable(status)) status = absl::AbortedError(status.message());
        if (!status.ok()) {
          for (const std::string& check : question.checks) {
            for (const std::string& node : nodes) {
              on_result(node, knowledge::MakeResult(*knowledge->FindCheck(check), node, status));
            }
          }
        } else {
          for (const playbook::Examination& examination : *examined) {
            for (CheckResult& result : playbook::ResultsOf(*knowledge->FindCheck(examination.check),
                                                           examination, nodes)) {
              const std::string node = result.node();
              on_result(node, std::move(result));
            }
          }
        }
        std::move (*ended)();
      });
  if (!taken) {
    for (const std::string& check : question.checks) {
      for (const std::string& node : nodes) {
        on_result(node,
                  knowledge::MakeResult(*knowledge->FindCheck(check), node,
                                        absl::ResourceExhaustedError(
                                            "too many telemetry queries are waiting; try again")));
      }
    }
    std::move (*ended)();
  }
  return [cancelled] { cancelled->Cancel(); };
}

bool TelemetryChecks::Has(const std::string& bundle) const {
  if (bundle.empty()) return options_.live.has_value();
  if (options_.live_for_bundles && options_.live.has_value()) return true;
  if (options_.bundle_root == nullptr) return false;
  const absl::StatusOr<std::string> path = options_.bundle_root(bundle);
  if (!path.ok()) return false;
  const absl::StatusOr<host::BundleFiles> files = host::BundleFiles::Open(*path);
  if (!files.ok()) return false;
  const auto names = files->List("telemetry");
  if (names.ok() && !names->empty()) return true;
  const std::vector<std::string> paths = LogsOf(*path);
  const auto end =
      paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kMostSniffed));
  return std::any_of(paths.begin(), end, job_logs::IsRun);
}

std::vector<std::string> TelemetryChecks::LiveNodes(const playbook::Times& window) {
  if (!options_.live.has_value()) return {};
  playbook::Request question;
  question.window = window;
  question.extent = options_.live->extent;
  question.now = clock_.Now();
  telemetry::Call call;
  call.deadline = SteadyNow() + kNodesTime;
  call.cancellation = &closing_;
  auto nodes = playbook::NodesOf(options_.rules, *options_.live->source,
                                 playbook::WindowOf(question), kMostNodes, call);
  return nodes.ok() ? *std::move(nodes) : std::vector<std::string>();
}

}  // namespace galen::execution
