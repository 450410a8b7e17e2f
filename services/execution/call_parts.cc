#include "services/execution/call_parts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "services/execution/node_dispatcher.h"
#include "services/execution/pair_sweep.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

// The parts of a node that no node answers.
constexpr char kTelemetry[] = "telemetry";
constexpr char kHistory[] = "history";

}  // namespace

absl::Duration TimeLimitOf(const knowledge::v1::Check& check) {
  return check.has_time_limit() ? ToDuration(check.time_limit())
                                : ToDuration(check.exec().time_limit());
}

CallParts::CallParts(const Sources& sources, Call call)
    : sources_(sources), call_(std::move(call)) {
  // Another replica asks for these itself.
  if (!call_.share) {
    paired_ = PairChecks();
    // Without numbers a node says that it cannot tell, as of every check that it has not.
    if (sources_.telemetry != nullptr && sources_.telemetry->Has(call_.request.bundle())) {
      measured_ = OfKind(knowledge::v1::Check::PROMQL);
    }
    if (sources_.history != nullptr) remembered_ = OfKind(knowledge::v1::Check::HISTORY);
  }
  for (const std::string& check : call_.checks) {
    if (!paired_.contains(check) && !measured_.contains(check) && !remembered_.contains(check)) {
      alone_.insert(check);
    }
  }
}

std::set<std::string> CallParts::PairChecks() const {
  std::set<std::string> paired;
  const v1::RunChecksRequest& request = call_.request;
  if (!request.bundle().empty() || call_.nodes.size() < 2) return paired;
  for (const std::string& check : call_.checks) {
    const knowledge::v1::Check& spec = *call_.knowledge->FindCheck(check);
    if (!IsPairCheck(spec) || (spec.intrusive() && !request.allow_intrusive())) continue;
    // A caller that gives the roles itself knows what it does.
    const bool by_hand = std::any_of(
        request.parameters().begin(), request.parameters().end(), [&](const auto& parameters) {
          return parameters.check() == check && parameters.values().contains("role");
        });
    if (!by_hand) paired.insert(check);
  }
  return paired;
}

std::set<std::string> CallParts::OfKind(knowledge::v1::Check::Kind kind) const {
  std::set<std::string> of_kind;
  for (const std::string& check : call_.checks) {
    if (call_.knowledge->FindCheck(check)->kind() == kind) of_kind.insert(check);
  }
  return of_kind;
}

void CallParts::Add() const {
  FanOut& fan_out = *call_.fan_out;
  for (const std::string& node : call_.nodes) {
    fan_out.Add(node, alone_);
    if (!measured_.empty()) fan_out.Add(node, measured_, kTelemetry);
    if (!remembered_.empty()) fan_out.Add(node, remembered_, kHistory);
    for (const std::string& check : paired_) {
      fan_out.Add(node, {check}, check, /*compared=*/true);
    }
  }
}

std::map<std::set<std::string>, std::vector<std::string>> CallParts::TakeKnown() const {
  const std::string& diagnosis = call_.request.diagnosis();
  if (!call_.share && !diagnosis.empty()) {
    const std::set<std::string> nodes(call_.nodes.begin(), call_.nodes.end());
    for (const std::string& check : alone_) {
      if (call_.knowledge->FindCheck(check)->comparisons().empty()) continue;
      for (CheckResult& peer : sources_.cache.OfOthers(diagnosis, call_.variants.at(check), check,
                                                       nodes, sources_.clock.Now())) {
        call_.fan_out->AddPeer(std::move(peer));
      }
    }
  }
  std::map<std::set<std::string>, std::vector<std::string>> missing;
  for (const std::string& node : call_.nodes) {
    const std::set<std::string> owed = FromCache(node, alone_, "");
    if (owed.empty()) {
      call_.fan_out->OnNodeDone(node, absl::OkStatus());
    } else {
      missing[owed].push_back(node);
    }
  }
  return missing;
}

void CallParts::Start() const {
  for (const std::string& check : paired_) RunPairs(check);
  if (!measured_.empty()) RunTelemetry();
  if (!remembered_.empty()) RunHistory();
}

std::optional<CheckResult> CallParts::Known(const std::string& check,
                                            const std::string& node) const {
  return sources_.cache.Find(call_.request.diagnosis(), call_.variants.at(check),
                             absl::StrCat(check, "@", node), sources_.clock.Now());
}

bool CallParts::AllKnown(const std::set<std::string>& checks) const {
  return !call_.request.diagnosis().empty() &&
         std::all_of(call_.nodes.begin(), call_.nodes.end(), [&](const std::string& node) {
           return std::all_of(checks.begin(), checks.end(), [&](const std::string& check) {
             return Known(check, node).has_value();
           });
         });
}

std::set<std::string> CallParts::FromCache(const std::string& node,
                                           const std::set<std::string>& checks,
                                           const std::string& part) const {
  if (call_.request.diagnosis().empty()) return checks;
  std::set<std::string> missing;
  for (const std::string& check : checks) {
    std::optional<CheckResult> known = Known(check, node);
    if (known.has_value()) {
      call_.fan_out->OnResult(node, *std::move(known), part);
    } else {
      missing.insert(check);
    }
  }
  return missing;
}

void CallParts::RunTelemetry() const {
  const v1::RunChecksRequest& request = call_.request;
  const auto all_done = [fan_out = call_.fan_out, nodes = call_.nodes] {
    for (const std::string& node : nodes) {
      fan_out->OnNodeDone(node, absl::OkStatus(), kTelemetry);
    }
  };
  // All nodes or none: results depend on the comparison between the nodes.
  if (AllKnown(measured_)) {
    for (const std::string& node : call_.nodes) FromCache(node, measured_, kTelemetry);
    all_done();
    return;
  }
  // A baseline may hold only nodes that the tenant may see, like the nodes under examination.
  const bool shared = sources_.tenant_nodes != nullptr && request.bundle().empty();
  v1::RunChecksRequest question = request;
  if (shared) {
    const auto seen = NodesSeenBy(sources_.tenant_nodes, request.diagnosis());
    auto& others = *question.mutable_baseline()->mutable_nodes();
    others.erase(std::remove_if(others.begin(), others.end(),
                                [&](const std::string& node) { return !seen(node); }),
                 others.end());
    if (others.empty() && !request.baseline().nodes().empty()) question.clear_baseline();
  }
  call_.calls->Add(sources_.telemetry->Run(
      call_.knowledge, question, measured_, call_.nodes, shared, call_.deadline,
      [fan_out = call_.fan_out](const std::string& node, CheckResult result) {
        fan_out->OnResult(node, std::move(result), kTelemetry);
      },
      all_done));
}

void CallParts::RunHistory() const {
  std::map<std::string, std::set<std::string>> owed;
  for (const std::string& node : call_.nodes) owed[node] = FromCache(node, remembered_, kHistory);
  call_.calls->Add(sources_.history->Run(
      call_.knowledge, call_.request, std::move(owed), call_.deadline,
      [fan_out = call_.fan_out](const std::string& node, CheckResult result) {
        fan_out->OnResult(node, std::move(result), kHistory);
      },
      [fan_out = call_.fan_out](const std::string& node, const absl::Status& status) {
        fan_out->OnNodeDone(node, status, kHistory);
      }));
}

absl::StatusOr<NodeRegistry::Node> CallParts::ClientOf(const std::string& node) const {
  GALEN_ASSIGN_OR_RETURN(NodeRegistry::Node client, sources_.registry.Live(node));
  GALEN_RETURN_IF_ERROR(
      sources_.breaker.Allow(sources_.registry.KeyOf(node), sources_.clock.Now()));
  return client;
}

void CallParts::RunPairs(const std::string& check) const {
  const std::shared_ptr<FanOut> fan_out = call_.fan_out;
  // All or none: a node alone cannot be tested again.
  const bool known = AllKnown({check});
  std::map<std::string, NodeRegistry::Node> able;
  for (const std::string& node : call_.nodes) {
    const absl::StatusOr<NodeRegistry::Node> client = ClientOf(node);
    if (known) FromCache(node, {check}, check);
    if (known || !client.ok()) {
      fan_out->OnNodeDone(node, known ? absl::OkStatus() : client.status(), check);
    } else {
      able[node] = *client;
    }
  }
  if (able.size() < 2) {
    for (const auto& [node, client] : able) {
      CheckResult result = ErrorResult(check, node, "");
      result.set_status(CheckResult::SKIPPED);
      result.set_message("needs two nodes, and no other one answers");
      fan_out->OnResult(node, std::move(result), check);
      fan_out->OnNodeDone(node, absl::OkStatus(), check);
    }
    return;
  }
  const knowledge::v1::Check& spec = *call_.knowledge->FindCheck(check);
  const bool progress = call_.request.progress();
  std::map<std::string, clients::NodeClient*> nodes_of_sweep;
  for (const auto& [node, client] : able) nodes_of_sweep[node] = client.get();
  StartPairSweep(
      {.check = spec,
       .nodes = std::move(nodes_of_sweep),
       .call = CallOf(call_.request, "", {check}),
       .pair_time = sources_.node_timeout + TimeLimitOf(spec),
       .deadline = call_.deadline,
       .clock = sources_.clock,
       .calls = call_.calls},
      [fan_out, check, progress](const std::string& node, CheckResult result) {
        if (result.status() == CheckResult::RUNNING && !progress) return;
        fan_out->OnResult(node, std::move(result), check);
      },
      // The sweep refers to its check and clients.
      [fan_out, check, able, knowledge = call_.knowledge] {
        for (const auto& [node, client] : able) {
          fan_out->OnNodeDone(node, absl::OkStatus(), check);
        }
      });
}

}  // namespace galen::execution
