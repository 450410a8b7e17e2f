#include "services/node/executor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/knowledge/make_result.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using knowledge::v1::Check;

constexpr int kMaxChecks = 1000;
// A caller that goes away, and a device that gets free, are noticed within this time.
constexpr absl::Duration kLook = absl::Milliseconds(50);
// Results of a bundle come in heaps: they take no time, and each heap is one step of the diagnosis.
constexpr absl::Duration kGather = absl::Milliseconds(5);
// The time that a check of kind EXEC may take beyond its program.
constexpr absl::Duration kExecSlack = absl::Seconds(5);

// The parameters that the request sets for `check`; of two entries the later one counts.
galen::v1::CheckParameters ParametersOf(const v1::RunChecksRequest& request,
                                        const std::string& check) {
  galen::v1::CheckParameters all;
  for (const galen::v1::CheckParameters& entry : request.parameters()) {
    if (entry.check() == check) all.MergeFrom(entry);
  }
  return all;
}

// Ends what a call began, however the call ends.
class CallEnd {
 public:
  CallEnd(Cancellation& commands, CheckRun& run) : commands_(commands), run_(run) {}
  CallEnd(const CallEnd&) = delete;
  CallEnd& operator=(const CallEnd&) = delete;
  ~CallEnd() {
    commands_.Cancel();
    run_.Cancel();
  }

 private:
  Cancellation& commands_;
  CheckRun& run_;
};

}  // namespace

// A check that is yet to run.
struct NodeExecutor::Waiting {
  const Check* spec;
  Parameters parameters;
  std::shared_ptr<DeviceQueue::Turn> turn;  // nullptr: it loads no device
  absl::Time since;
};

NodeExecutor::NodeExecutor(const HostSource& hosts,
                           std::shared_ptr<const knowledge::Knowledge> knowledge,
                           std::vector<NamedCheck> checks, Options options)
    : hosts_(hosts),
      native_(std::move(checks)),
      catalogue_(MakeCatalogue(std::move(knowledge), native_)),
      options_(options) {}

std::shared_ptr<const NodeExecutor::Catalogue> NodeExecutor::MakeCatalogue(
    std::shared_ptr<const knowledge::Knowledge> knowledge, const std::vector<NamedCheck>& checks) {
  auto catalogue = std::make_shared<Catalogue>();
  for (const NamedCheck& check : checks) {
    catalogue->checks[std::string(check.name)] = check.run;
    std::vector<const LogWant*>& wants = catalogue->log_wants;
    if (check.wants != nullptr && std::count(wants.begin(), wants.end(), check.wants) == 0) {
      wants.push_back(check.wants);
    }
  }
  for (const Check& check : knowledge->base().checks()) {
    if (check.kind() == Check::EXTRACT || check.kind() == Check::EXEC) {
      catalogue->checks.try_emplace(check.name(), nullptr);
    }
  }
  catalogue->knowledge = std::move(knowledge);
  return catalogue;
}

void NodeExecutor::Use(std::shared_ptr<const knowledge::Knowledge> knowledge) {
  catalogue_.Set(MakeCatalogue(std::move(knowledge), native_));
}

std::shared_ptr<const NodeExecutor::Catalogue> NodeExecutor::CatalogueFor(
    const v1::RunChecksRequest& request) const {
  const auto has_all = [&](const Catalogue& catalogue) {
    return std::all_of(request.checks().begin(), request.checks().end(),
                       [&](const std::string& check) {
                         return catalogue.checks.contains(check) &&
                                catalogue.knowledge->FindCheck(check) != nullptr;
                       });
  };
  std::shared_ptr<const Catalogue> newest = catalogue_.Get();
  if (has_all(*newest)) return newest;
  const std::shared_ptr<const Catalogue> before = catalogue_.Before();
  return before != nullptr && has_all(*before) ? before : newest;
}

absl::StatusOr<const Check*> NodeExecutor::Runnable(const Catalogue& catalogue,
                                                    const std::string& check,
                                                    const v1::RunChecksRequest& request) const {
  const Check* spec = catalogue.knowledge->FindCheck(check);
  if (spec != nullptr && spec->kind() == Check::PROMQL) {
    return absl::NotFoundError(
        "no time series: name a Prometheus server or its data folder (--prometheus), or put "
        "telemetry/*.om into the bundle");
  }
  if (spec != nullptr && spec->kind() == Check::HISTORY) {
    return absl::NotFoundError("a mesh knows of earlier failures, a node alone does not");
  }
  if (!catalogue.checks.contains(check) || spec == nullptr) {
    return absl::NotFoundError("this version of the node executor does not have this check");
  }
  if (spec->off()) {
    return absl::FailedPreconditionError(
        absl::StrCat(check, " is switched off by the knowledge of this site"));
  }
  // In a bundle it loads nothing: it reads what was captured when someone ran the test.
  if (spec->intrusive() && !request.allow_intrusive() && request.bundle().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(check, " loads the device, and this call does not allow that"));
  }
  return spec;
}

absl::Duration NodeExecutor::AllowedTime(const Check& check) const {
  absl::Duration allowed = options_.check_timeout;
  if (check.has_time_limit()) {
    allowed = ToDuration(check.time_limit());
  } else if (check.kind() == Check::EXEC && check.exec().has_time_limit()) {
    allowed = ToDuration(check.exec().time_limit()) + kExecSlack;
  }
  return std::min(allowed, options_.longest_check);
}

std::deque<NodeExecutor::Waiting> NodeExecutor::Plan(
    const Catalogue& catalogue, const v1::RunChecksRequest& request, const CheckRun::Call& call,
    absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const {
  std::set<std::string> seen;
  std::deque<Waiting> waiting;
  const absl::Time now = SteadyNow();
  for (const std::string& check : request.checks()) {
    if (!seen.insert(check).second) continue;
    const absl::StatusOr<const Check*> spec = Runnable(catalogue, check, request);
    if (!spec.ok()) {
      on_result(knowledge::ResultWithoutFindings(check, call.node, CheckResult::SKIPPED,
                                                 spec.status().message()));
      continue;
    }
    absl::StatusOr<Parameters> parameters =
        Parameters::Resolve(**spec, ParametersOf(request, check));
    if (!parameters.ok()) {
      on_result(knowledge::ResultWithoutFindings(check, call.node, CheckResult::ERROR,
                                                 parameters.status().message()));
      continue;
    }
    // A check of a bundle loads no device.
    std::shared_ptr<DeviceQueue::Turn> turn;
    if (call.host->live() && !(*spec)->occupies().empty()) {
      turn = turns_.Queue((*spec)->occupies(), check);
    }
    waiting.push_back({*spec, *std::move(parameters), std::move(turn), now});
  }
  return waiting;
}

std::size_t NodeExecutor::StartWaiting(
    const Catalogue& catalogue, const std::shared_ptr<CheckRun>& run, std::deque<Waiting>& waiting,
    std::size_t free_places, absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const {
  std::size_t started = 0;
  for (auto it = waiting.begin(); it != waiting.end();) {
    const absl::Time now = SteadyNow();
    const std::string& check = it->spec->name();
    const auto refuse = [&](absl::string_view why) {
      on_result(knowledge::ResultWithoutFindings(check, run->call().node, CheckResult::ERROR,
                                                 absl::StrCat(check, " was not begun ", why)));
      it = waiting.erase(it);
    };
    const bool turn_has_come = it->turn == nullptr || it->turn->HasCome();
    if (now >= run->call().deadline) {
      refuse("before the call's deadline");
    } else if (run->call().host->live() && stuck_->Hangs(check)) {
      refuse("again, as an earlier run of it still hangs");
    } else if (!turn_has_come && now - it->since >= options_.longest_wait) {
      refuse(absl::StrCat("within ", absl::FormatDuration(options_.longest_wait), ", as ",
                          it->turn->Holder(), " has the ", it->turn->kind()));
    } else if (!turn_has_come || started >= free_places) {
      ++it;
    } else {
      CheckRun::Start(run, *it->spec, catalogue.checks.find(check)->second,
                      std::move(it->parameters), AllowedTime(*it->spec), std::move(it->turn));
      ++started;
      it = waiting.erase(it);
    }
  }
  return started;
}

absl::Status NodeExecutor::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                                     absl::FunctionRef<void(galen::v1::CheckResult)> tell,
                                     const Cancellation& cancelled) const {
  if (request.checks().empty()) return absl::InvalidArgumentError("checks: names no check");
  if (request.checks_size() > kMaxChecks) {
    return absl::InvalidArgumentError(
        absl::StrCat("checks: ", request.checks_size(), " are more than ", kMaxChecks));
  }
  // The caller may have cancelled while the call waited for its turn.
  if (cancelled.cancelled()) return absl::CancelledError("the caller went away");
  if (!request.bundle().empty() && stuck_->of_bundles() >= options_.max_stuck) {
    return absl::ResourceExhaustedError(absl::StrCat(hosts_.name(), ": ", stuck_->of_bundles(),
                                                     " checks of bundles hang; restart the node "
                                                     "executor"));
  }
  const auto commands = std::make_shared<Cancellation>();
  CheckRun::Call call;
  GALEN_ASSIGN_OR_RETURN(call.host, hosts_.Open(request.bundle(), request.node(), commands));
  const std::shared_ptr<const Catalogue> catalogue = CatalogueFor(request);
  call.knowledge = catalogue->knowledge;
  call.log_wants = catalogue->log_wants;
  call.node = request.node().empty() ? call.host->name() : request.node();
  call.deadline = ToSteady(deadline);
  call.allow_busy = request.allow_intrusive() && request.allow_busy();
  call.progress = request.progress();
  call.progress_interval = options_.progress_interval;
  if (request.has_start_time()) call.window_start = ToTime(request.start_time());
  if (request.has_end_time()) call.window_end = ToTime(request.end_time());

  call.numbers = numbers_;
  const auto on_result = [&](CheckResult result) {
    // A caller may request any name; only the checks of the catalogue have counters of their own.
    const bool known = catalogue->knowledge->FindCheck(result.check()) != nullptr;
    numbers_->CountResult(known ? absl::string_view(result.check()) : metrics::kOther,
                          result.status());
    tell(std::move(result));
  };

  const auto run = std::make_shared<CheckRun>(std::move(call), stuck_);
  const CallEnd end(*commands, *run);
  std::deque<Waiting> waiting = Plan(*catalogue, request, run->call(), on_result);
  const auto most = static_cast<std::size_t>(std::max(1, options_.max_parallel));
  std::size_t running = 0;
  std::vector<CheckResult> heap;
  absl::Time heap_begun;
  while (!waiting.empty() || running > 0) {
    if (cancelled.cancelled()) return absl::CancelledError("the caller went away");
    running += StartWaiting(*catalogue, run, waiting, most - running, on_result);
    for (CheckResult& result : run->Next(heap.empty() ? kLook : kGather)) {
      if (result.status() != CheckResult::RUNNING) --running;
      if (heap.empty()) heap_begun = SteadyNow();
      heap.push_back(std::move(result));
    }
    const bool more = !waiting.empty() || running > 0;
    if (more && !run->call().host->live() && SteadyNow() - heap_begun < kGather) continue;
    for (CheckResult& result : heap) on_result(std::move(result));
    heap.clear();
  }
  return absl::OkStatus();
}

void NodeExecutor::ReadAhead(const std::string& bundle, const std::string& node,
                             absl::Time window_end) const {
  const auto host = hosts_.Open(bundle, node, nullptr);
  if (!host.ok()) return;  // the checks will say why
  const std::shared_ptr<const Catalogue> catalogue = catalogue_.Get();
  ReadLogsAhead({.host = **host,
                 .knowledge = *catalogue->knowledge,
                 .window_end = window_end,
                 .log_wants = catalogue->log_wants});
}

std::shared_ptr<const prometheus::Collectable> NodeExecutor::metrics() const {
  return metrics::SourceOf([numbers = numbers_,
                            stuck = stuck_]() -> std::vector<prometheus::MetricFamily> {
    return {numbers->Results(metrics::kNodeResults), numbers->Times(metrics::kNodeCheckSeconds),
            metrics::FamilyWith(metrics::kNodeStuck, {{{}, static_cast<double>(stuck->total())}})};
  });
}

v1::DescribeResponse NodeExecutor::Describe() const {
  v1::DescribeResponse response;
  response.set_host(hosts_.name());
  const std::shared_ptr<const Catalogue> catalogue = catalogue_.Get();
  for (const auto& [name, check] : catalogue->checks) {
    if (catalogue->knowledge->FindCheck(name) != nullptr) response.add_checks(name);
  }
  response.set_knowledge_digest(catalogue->knowledge->digest());
  return response;
}

}  // namespace galen::node
