#include "services/execution/check_runner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/observability/trace/trace.h"
#include "services/execution/call_parts.h"
#include "services/execution/fan_out.h"
#include "services/execution/node_dispatcher.h"
#include "services/execution/variant.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

}  // namespace

CheckRunner::CheckRunner(const NodeRegistry& registry, HotSwap<knowledge::Knowledge> knowledge,
                         const Clock& clock, Options options)
    : registry_(registry),
      knowledge_(std::move(knowledge)),
      clock_(clock),
      options_(std::move(options)),
      breaker_(std::make_shared<NodeBreaker>(options_.node_pause)),
      peer_breaker_(std::make_shared<NodeBreaker>(options_.peer_pause)),
      cache_(std::make_shared<ResultCache>(ResultCache::Options())),
      late_(std::make_unique<StragglerMonitor>(clock_, options_.look)) {}

absl::StatusOr<v1::ResolveNodesResponse> CheckRunner::ResolveNodes(
    const v1::ResolveNodesRequest& request) const {
  GALEN_ASSIGN_OR_RETURN(v1::ResolveNodesResponse response, FindNodes(request));
  const bool measured = options_.telemetry != nullptr && !response.nodes().empty() &&
                        response.nodes_size() <= options_.most_opening_nodes &&
                        options_.telemetry->Has(request.bundle());
  if (!measured) return response;
  for (const knowledge::v1::Check& check : knowledge_.Get()->base().checks()) {
    if (check.kind() == knowledge::v1::Check::PROMQL && !check.off()) {
      response.add_opening_checks(check.name());
    }
  }
  return response;
}

absl::StatusOr<v1::ResolveNodesResponse> CheckRunner::FindNodes(
    const v1::ResolveNodesRequest& request) const {
  std::vector<std::string> known;
  if (request.bundle().empty()) {
    known = registry_.LiveNodes();
    const auto seen = SeenBy(request.diagnosis());
    if ((known.empty() || options_.nodes_from_telemetry) && request.nodes().empty() &&
        options_.telemetry != nullptr) {
      // Without executors there still are numbers of machines.
      playbook::Times window;
      if (request.has_start_time()) window.start = ToTime(request.start_time());
      if (request.has_end_time()) window.end = ToTime(request.end_time());
      std::vector<std::string> measured = options_.telemetry->LiveNodes(window);
      if (!measured.empty()) known = std::move(measured);
    }
    known.erase(std::remove_if(known.begin(), known.end(),
                               [&](const std::string& node) { return !seen(node); }),
                known.end());
  } else {
    GALEN_ASSIGN_OR_RETURN(known, options_.bundle_nodes(request.bundle()));
  }
  const std::set<std::string> asked(request.nodes().begin(), request.nodes().end());
  v1::ResolveNodesResponse response;
  if (asked.empty()) {
    for (std::string& node : known) response.add_nodes(std::move(node));
    return response;
  }
  for (const std::string& node : asked) {
    if (!request.bundle().empty() && std::find(known.begin(), known.end(), node) == known.end()) {
      return absl::NotFoundError(absl::StrCat(request.bundle(), ": has no node \"", node,
                                              "\"; it holds ", absl::StrJoin(known, ", ")));
    }
    // A live node without an executor stays in: its checks end as ERROR, and the report says so.
    response.add_nodes(node);
  }
  return response;
}

std::shared_ptr<const prometheus::Collectable> CheckRunner::metrics() const {
  return metrics::SourceOf([this]() -> std::vector<prometheus::MetricFamily> {
    const auto number = [](std::size_t count) { return static_cast<double>(count); };
    return {numbers_->Results(metrics::kExecutionResults),
            metrics::FamilyWith(metrics::kNodesKnown, {{{}, number(registry_.size())}}),
            metrics::FamilyWith(metrics::kNodesSilent,
                                {{{}, number(breaker_->SilentAt(clock_.Now()))}})};
  });
}

absl::StatusOr<CheckRunner::KnowledgePtr> CheckRunner::KnowledgeFor(
    const std::set<std::string>& checks) const {
  const auto first_missing = [&](const KnowledgePtr& knowledge) {
    return std::find_if(checks.begin(), checks.end(), [&](const std::string& check) {
      return knowledge->FindCheck(check) == nullptr;
    });
  };
  const KnowledgePtr newest = knowledge_.Get();
  const auto missing = first_missing(newest);
  if (missing == checks.end()) return newest;
  const KnowledgePtr before = knowledge_.Before();
  if (before != nullptr && first_missing(before) == checks.end()) return before;
  return absl::InvalidArgumentError(absl::StrCat(
      "check \"", *missing, "\": not in the catalogue; run `galen checks list` to see the checks"));
}

absl::StatusOr<v1::RunChecksRequest> CheckRunner::Everything(
    const v1::RunChecksRequest& request) const {
  if (request.bundle().empty()) {
    return absl::InvalidArgumentError(
        "everything: is for bundles, where a check reads what was captured; name the checks that a "
        "machine is to run");
  }
  v1::ResolveNodesRequest question;
  question.set_bundle(request.bundle());
  GALEN_ASSIGN_OR_RETURN(const v1::ResolveNodesResponse nodes, FindNodes(question));
  v1::RunChecksRequest all = request;
  all.clear_everything();
  *all.mutable_nodes() = nodes.nodes();
  for (const knowledge::v1::Check& check : knowledge_.Get()->base().checks()) {
    // Those ask others than the node.
    if (check.off() || check.kind() == knowledge::v1::Check::PROMQL ||
        check.kind() == knowledge::v1::Check::HISTORY) {
      continue;
    }
    all.add_checks(check.name());
  }
  return all;
}

clients::Cancel CheckRunner::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                                       clients::OnMessage<galen::v1::CheckResult> on_result,
                                       absl::AnyInvocable<void(absl::Status) &&> done,
                                       const std::shared_ptr<Backpressure>& backpressure) const {
  if (request.everything()) {
    const absl::StatusOr<v1::RunChecksRequest> all = Everything(request);
    if (!all.ok()) {
      std::move(done)(all.status());
      return clients::NoCancel();
    }
    return Run(*all, deadline, std::move(on_result), std::move(done), backpressure,
               /*share=*/false);
  }
  return Run(request, deadline, std::move(on_result), std::move(done), backpressure,
             /*share=*/false);
}

clients::Cancel CheckRunner::RunShare(const v1::RunChecksRequest& request, absl::Time deadline,
                                      clients::OnMessage<galen::v1::CheckResult> on_result,
                                      absl::AnyInvocable<void(absl::Status) &&> done,
                                      const std::shared_ptr<Backpressure>& backpressure) const {
  if (!request.bundle().empty()) {
    std::move(done)(absl::InvalidArgumentError("bundle: is read by the replica that was asked"));
    return clients::NoCancel();
  }
  return Run(request, deadline, std::move(on_result), std::move(done), backpressure,
             /*share=*/true);
}

clients::Cancel CheckRunner::Run(const v1::RunChecksRequest& request, absl::Time deadline,
                                 clients::OnMessage<galen::v1::CheckResult> on_result,
                                 absl::AnyInvocable<void(absl::Status) &&> done,
                                 const std::shared_ptr<Backpressure>& backpressure,
                                 bool share) const {
  const std::set<std::string> checks(request.checks().begin(), request.checks().end());
  const absl::StatusOr<KnowledgePtr> knowledge = KnowledgeFor(checks);
  if (!knowledge.ok()) {
    std::move(done)(knowledge.status());
    return clients::NoCancel();
  }
  std::vector<std::string> nodes(request.nodes().begin(), request.nodes().end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (share) {
    nodes.erase(
        std::remove_if(nodes.begin(), nodes.end(),
                       [this](const std::string& node) { return registry_.PlaceOf(node).empty(); }),
        nodes.end());
  }
  // Another tenant's nodes, which are not told from those that there are not. A replica that asks
  // for its share has told them apart.
  std::vector<std::string> unseen;
  if (!share && request.bundle().empty()) {
    const auto first =
        std::stable_partition(nodes.begin(), nodes.end(), SeenBy(request.diagnosis()));
    unseen.assign(first, nodes.end());
    nodes.erase(first, nodes.end());
  }
  if (checks.empty() || (nodes.empty() && unseen.empty())) {
    std::move(done)(absl::OkStatus());
    return clients::NoCancel();
  }
  const auto calls = std::make_shared<CancelGroup>();
  std::map<std::string, std::string> variants;
  const std::string of_call = VariantOf(request);
  absl::Duration long_checks;
  for (const std::string& check : checks) {
    variants[check] = VariantOf(of_call, request, check);
    long_checks += TimeLimitOf(*(*knowledge)->FindCheck(check));
  }
  auto counted = [numbers = numbers_, tell = std::move(on_result)](CheckResult result) mutable {
    numbers->CountResult(result.check(), result.status());
    tell(std::move(result));
  };
  FanOut::Tap keep;
  if (!request.diagnosis().empty()) {
    keep = [cache = cache_, diagnosis = request.diagnosis(), variants,
            &clock = clock_](const CheckResult& result) {
      cache->Keep(diagnosis, variants.at(result.check()), result, clock.Now());
    };
  }
  auto fan_out = std::make_shared<FanOut>(*knowledge, std::move(counted), std::move(done),
                                          std::move(keep), /*compare=*/!share);
  const CallParts parts({.registry = registry_,
                         .clock = clock_,
                         .breaker = *breaker_,
                         .cache = *cache_,
                         .telemetry = options_.telemetry,
                         .history = options_.history,
                         .tenant_nodes = options_.tenant_nodes,
                         .node_timeout = options_.node_timeout},
                        {.knowledge = *knowledge,
                         .request = request,
                         .checks = checks,
                         .nodes = nodes,
                         .variants = std::move(variants),
                         .deadline = deadline,
                         .fan_out = fan_out,
                         .calls = calls,
                         .share = share});
  parts.Add();
  for (const std::string& node : unseen) fan_out->Add(node, checks);
  const auto missing = parts.TakeKnown();
  const auto node_calls =
      MakeNodeCalls(request, fan_out, calls, long_checks, deadline, backpressure);
  for (const std::string& node : unseen) fan_out->OnNodeDone(node, NoExecutor());
  node_calls->Begin(Plan(missing, !request.bundle().empty(), share));
  parts.Start();
  return [calls, node_calls] {
    calls->CancelAll();
    node_calls->Cancel();
  };
}

std::shared_ptr<NodeCalls> CheckRunner::MakeNodeCalls(
    const v1::RunChecksRequest& request, const std::shared_ptr<FanOut>& fan_out,
    const std::shared_ptr<CancelGroup>& calls, absl::Duration long_checks, absl::Time deadline,
    const std::shared_ptr<Backpressure>& backpressure) const {
  v1::RunChecksRequest call = request;
  call.clear_nodes();
  const auto dispatcher = std::make_shared<NodeDispatcher>(
      NodeDispatcher::Parts{registry_, clock_, options_.peers, breaker_, peer_breaker_, fan_out,
                            calls},
      std::move(call), options_.node_timeout + long_checks, deadline);
  NodeCalls::Limits limits = options_.limits;
  limits.late_after += long_checks;
  std::function<void(const Batch&)> late;
  if (request.progress()) {
    late = [fan_out, after = limits.late_after](const Batch& batch) {
      for (const std::string& node : batch.nodes) fan_out->OnLate(node, after);
    };
  }
  const auto node_calls = std::make_shared<NodeCalls>(
      limits, [&clock = clock_] { return clock.Now(); },
      [dispatcher, work = trace::Current()](const Batch& batch, const NodeCalls::Ended& ended) {
        const trace::Scope scope(work);
        dispatcher->Ask(batch, ended);
      },
      std::move(late), backpressure == nullptr ? nullptr : std::function<bool()>([backpressure] {
        return backpressure->full();
      }));
  if (backpressure != nullptr) backpressure->OnResume([node_calls] { node_calls->Resume(); });
  late_->Add(node_calls);
  return node_calls;
}

std::deque<Batch> CheckRunner::Plan(
    const std::map<std::set<std::string>, std::vector<std::string>>& missing, bool bundle,
    bool share) const {
  std::deque<Batch> plan;
  // Batches by the replica that asks the nodes.
  std::map<std::string, std::deque<Batch>> queues;
  for (const auto& [checks, owing] : missing) {
    if (bundle) {
      for (const std::string& node : owing) plan.push_back({{node}, checks, ""});
      continue;
    }
    // Those that did not register are known to this replica alone.
    std::vector<std::string> mine;
    std::vector<std::string> divided;
    for (const std::string& node : owing) {
      (share || options_.peers == nullptr || !registry_.Registered(node) ? mine : divided)
          .push_back(node);
    }
    std::map<std::string, std::vector<std::string>> shares;
    if (options_.peers != nullptr && !divided.empty()) {
      shares = options_.peers->Divide(std::move(divided));
    }
    std::vector<std::string>& own = shares[""];
    if (!mine.empty()) {
      own.insert(own.end(), mine.begin(), mine.end());
      std::sort(own.begin(), own.end());
    }
    for (const auto& [replica, nodes] : shares) {
      absl::flat_hash_map<std::string, std::vector<std::string>> open;  // by place
      std::deque<Batch>& queue = queues[replica];
      for (const std::string& node : nodes) {
        std::string place = replica.empty() ? registry_.PlaceOf(node) : replica;
        if (place.empty()) place = node;
        std::vector<std::string>& together = open[place];
        together.push_back(node);
        if (together.size() < options_.batch) continue;
        queue.push_back({std::move(together), checks, replica});
        open.erase(place);
      }
      for (auto& [place, together] : open) {
        queue.push_back({std::move(together), checks, replica});
      }
    }
  }
  // One batch of each replica in turn, so that none waits for the others to be done.
  for (bool more = true; more;) {
    more = false;
    for (auto& [replica, queue] : queues) {
      if (queue.empty()) continue;
      plan.push_back(std::move(queue.front()));
      queue.pop_front();
      more = true;
    }
  }
  return plan;
}

}  // namespace galen::execution
