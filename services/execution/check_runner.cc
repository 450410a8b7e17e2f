#include "services/execution/check_runner.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/execution/fan_out.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using google::protobuf::util::TimeUtil;

absl::Duration TimeLimit(const knowledge::v1::Check& check) {
  return absl::Seconds(check.time_limit().seconds()) +
         absl::Nanoseconds(check.time_limit().nanos());
}

// What makes two calls of a check answer differently, beside the node.
std::string VariantOf(const v1::RunChecksRequest& request, const std::string& check) {
  std::string variant =
      absl::StrCat(request.bundle(), "\n", TimeUtil::ToString(request.start_time()), "\n",
                   TimeUtil::ToString(request.end_time()), "\n", request.allow_intrusive(),
                   request.allow_busy());
  for (const galen::v1::CheckParameters& parameters : request.parameters()) {
    if (parameters.check() != check) continue;
    const std::map<std::string, std::string> values(parameters.values().begin(),
                                                    parameters.values().end());
    for (const auto& [name, value] : values) absl::StrAppend(&variant, "\n", name, "=", value);
  }
  return variant;
}

node::v1::RunChecksRequest CallOf(const v1::RunChecksRequest& request, const std::string& node,
                                  const std::set<std::string>& checks) {
  node::v1::RunChecksRequest call;
  for (const std::string& check : checks) call.add_checks(check);
  call.set_node(node);
  call.set_bundle(request.bundle());
  if (request.has_start_time()) *call.mutable_start_time() = request.start_time();
  if (request.has_end_time()) *call.mutable_end_time() = request.end_time();
  call.set_allow_intrusive(request.allow_intrusive());
  call.set_allow_busy(request.allow_busy());
  call.set_progress(request.progress());
  for (const galen::v1::CheckParameters& parameters : request.parameters()) {
    if (checks.count(parameters.check()) > 0) *call.add_parameters() = parameters;
  }
  return call;
}

}  // namespace

CheckRunner::CheckRunner(const NodeRegistry& registry, const knowledge::Knowledge& knowledge,
                         const Clock& clock, Options options)
    : registry_(registry),
      knowledge_(knowledge),
      clock_(clock),
      options_(std::move(options)),
      breaker_(std::make_shared<NodeBreaker>(options_.node_pause)),
      cache_(std::make_shared<ResultCache>(ResultCache::Options())) {}

absl::StatusOr<v1::ResolveNodesResponse> CheckRunner::ResolveNodes(
    const v1::ResolveNodesRequest& request) const {
  std::vector<std::string> known;
  if (request.bundle().empty()) {
    known = registry_.LiveNodes();
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

void CheckRunner::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) const {
  const std::set<std::string> checks(request.checks().begin(), request.checks().end());
  for (const std::string& check : checks) {
    if (knowledge_.FindCheck(check) == nullptr) {
      std::move(done)(absl::InvalidArgumentError(absl::StrCat(
          "check \"", check, "\": not in the catalogue; `galen checks list` shows what there is")));
      return;
    }
  }
  const std::set<std::string> nodes(request.nodes().begin(), request.nodes().end());
  if (checks.empty() || nodes.empty()) {
    std::move(done)(absl::OkStatus());
    return;
  }
  std::map<std::string, std::string> variants;
  absl::Duration long_checks;
  for (const std::string& check : checks) {
    variants[check] = VariantOf(request, check);
    long_checks += TimeLimit(*knowledge_.FindCheck(check));
  }
  auto fan_out = std::make_shared<FanOut>(
      knowledge_, nodes.size(), std::move(on_result), std::move(done),
      [cache = cache_, diagnosis = request.diagnosis(), variants,
       &clock = clock_](const CheckResult& result) {
        cache->Keep(diagnosis, variants.at(result.check()), result, clock.Now());
      });
  for (const std::string& node : nodes) fan_out->Add(node, checks);
  const absl::Time node_deadline =
      std::min(deadline, clock_.Now() + options_.node_timeout + long_checks);
  for (const std::string& node : nodes) {
    std::set<std::string> missing;
    for (const std::string& check : checks) {
      std::optional<CheckResult> known = cache_->Find(request.diagnosis(), variants[check],
                                                      absl::StrCat(check, "@", node), clock_.Now());
      if (known.has_value()) {
        fan_out->OnResult(node, *std::move(known));
      } else {
        missing.insert(check);
      }
    }
    if (missing.empty()) {
      fan_out->OnNodeDone(node, absl::OkStatus());
      continue;
    }
    clients::NodeClient* client =
        request.bundle().empty() ? registry_.Live(node) : registry_.ForBundle(node);
    if (client == nullptr) {
      fan_out->OnNodeDone(
          node, absl::NotFoundError(request.bundle().empty()
                                        ? "none is registered with execution (--nodes)"
                                        : "no executor may read bundles (--bundle_readers)"));
      continue;
    }
    if (const absl::Status allowed = breaker_->Allow(node, clock_.Now()); !allowed.ok()) {
      fan_out->OnNodeDone(node, allowed);
      continue;
    }
    client->RunChecks(
        CallOf(request, node, missing), node_deadline,
        [fan_out, node](CheckResult result) { fan_out->OnResult(node, std::move(result)); },
        [fan_out, node, breaker = breaker_, &clock = clock_](const absl::Status& status) {
          breaker->Record(node, status, clock.Now());
          fan_out->OnNodeDone(node, status);
        });
  }
}

}  // namespace galen::execution
