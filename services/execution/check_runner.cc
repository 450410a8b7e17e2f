#include "services/execution/check_runner.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/execution/fan_out.h"
#include "services/execution/pair_sweep.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using google::protobuf::util::TimeUtil;

absl::Duration DurationOf(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// What the check may take beyond what every check may.
absl::Duration TimeLimit(const knowledge::v1::Check& check) {
  return check.has_time_limit() ? DurationOf(check.time_limit())
                                : DurationOf(check.exec().time_limit());
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

// A bundle is read by any of the readers, so one that does not answer is no fact about the bundle.
// Another one is asked for what is owed, once; without it the call can be made again.
struct BundleRead {
  const NodeRegistry& registry;
  v1::RunChecksRequest request;
  std::string node;
  absl::Time deadline;
  std::shared_ptr<FanOut> fan_out;
  std::shared_ptr<CancelList> calls;
};

constexpr std::size_t kReadersAsked = 2;

void AskReader(const std::shared_ptr<const BundleRead>& read, std::size_t attempt) {
  const std::string& node = read->node;
  clients::NodeClient* const reader = read->registry.ForBundle(node, attempt);
  read->calls->Add(reader->RunChecks(
      CallOf(read->request, node, read->fan_out->Owed(node)), read->deadline,
      [read](CheckResult result) { read->fan_out->OnResult(read->node, std::move(result)); },
      [read, attempt](const absl::Status& status) {
        if (!absl::IsUnavailable(status)) {
          read->fan_out->OnNodeDone(read->node, status);
        } else if (attempt + 1 < kReadersAsked &&
                   read->registry.ForBundle(read->node, attempt + 1) != nullptr) {
          AskReader(read, attempt + 1);
        } else {
          read->fan_out->OnNobodyThere(
              read->node,
              absl::UnavailableError(absl::StrCat(
                  "no reader of bundles answers (--bundle_readers): ", status.message())));
        }
      }));
}

}  // namespace

CheckRunner::CheckRunner(const NodeRegistry& registry, Current<knowledge::Knowledge> knowledge,
                         const Clock& clock, Options options)
    : registry_(registry),
      knowledge_(std::move(knowledge)),
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

std::shared_ptr<const prometheus::Collectable> CheckRunner::metrics() const {
  return metrics::SourceOf([this]() -> std::vector<prometheus::MetricFamily> {
    const auto number = [](std::size_t count) { return static_cast<double>(count); };
    return {numbers_->Results(metrics::kExecutionResults),
            metrics::FamilyWith(metrics::kNodesKnown, {{{}, number(registry_.LiveNodes().size())}}),
            metrics::FamilyWith(metrics::kNodesSilent,
                                {{{}, number(breaker_->SilentAt(clock_.Now()))}})};
  });
}

absl::StatusOr<CheckRunner::Book> CheckRunner::BookFor(const std::set<std::string>& checks) const {
  const auto first_missing = [&](const Book& book) {
    return std::find_if(checks.begin(), checks.end(), [&](const std::string& check) {
      return book->FindCheck(check) == nullptr;
    });
  };
  const Book newest = knowledge_.Get();
  const auto missing = first_missing(newest);
  if (missing == checks.end()) return newest;
  const Book before = knowledge_.Before();
  if (before != nullptr && first_missing(before) == checks.end()) return before;
  return absl::InvalidArgumentError(absl::StrCat(
      "check \"", *missing, "\": not in the catalogue; `galen checks list` shows what there is"));
}

clients::Cancel CheckRunner::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                                       clients::OnMessage<galen::v1::CheckResult> on_result,
                                       absl::AnyInvocable<void(absl::Status) &&> done) const {
  const std::set<std::string> checks(request.checks().begin(), request.checks().end());
  const absl::StatusOr<Book> book = BookFor(checks);
  if (!book.ok()) {
    std::move(done)(book.status());
    return clients::NoCancel();
  }
  const std::set<std::string> nodes(request.nodes().begin(), request.nodes().end());
  if (checks.empty() || nodes.empty()) {
    std::move(done)(absl::OkStatus());
    return clients::NoCancel();
  }
  const auto calls = std::make_shared<CancelList>();
  std::map<std::string, std::string> variants;
  absl::Duration long_checks;
  for (const std::string& check : checks) {
    variants[check] = VariantOf(request, check);
    long_checks += TimeLimit(*(*book)->FindCheck(check));
  }
  auto counted = [numbers = numbers_, tell = std::move(on_result)](CheckResult result) mutable {
    numbers->CountResult(result.check(), result.status());
    tell(std::move(result));
  };
  auto fan_out = std::make_shared<FanOut>(*book, std::move(counted), std::move(done),
                                          [cache = cache_, diagnosis = request.diagnosis(),
                                           variants, &clock = clock_](const CheckResult& result) {
                                            cache->Keep(diagnosis, variants.at(result.check()),
                                                        result, clock.Now());
                                          });
  const std::set<std::string> paired = PairChecksOf(**book, request, checks, nodes);
  std::set<std::string> alone;
  std::set_difference(checks.begin(), checks.end(), paired.begin(), paired.end(),
                      std::inserter(alone, alone.end()));
  for (const std::string& node : nodes) {
    fan_out->Add(node, alone);
    for (const std::string& check : paired) fan_out->Add(node, {check}, check);
  }
  const absl::Time node_deadline =
      std::min(deadline, clock_.Now() + options_.node_timeout + long_checks);
  for (const std::string& node : nodes) {
    const std::set<std::string> missing =
        FromCache(request.diagnosis(), node, alone, variants, *fan_out, "");
    if (missing.empty()) {
      fan_out->OnNodeDone(node, absl::OkStatus());
      continue;
    }
    const absl::StatusOr<clients::NodeClient*> client = ClientOf(request.bundle(), node);
    if (!client.ok()) {
      fan_out->OnNodeDone(node, client.status());
      continue;
    }
    if (!request.bundle().empty()) {
      AskReader(std::make_shared<const BundleRead>(
                    BundleRead{registry_, request, node, node_deadline, fan_out, calls}),
                /*attempt=*/0);
      continue;
    }
    calls->Add((*client)->RunChecks(
        CallOf(request, node, missing), node_deadline,
        [fan_out, node](CheckResult result) { fan_out->OnResult(node, std::move(result)); },
        [fan_out, node, breaker = breaker_, &clock = clock_](const absl::Status& status) {
          breaker->Record(node, status, clock.Now());
          fan_out->OnNodeDone(node, status);
        }));
  }
  for (const std::string& check : paired) {
    RunPairs(*book, request, check, nodes, variants, deadline, fan_out, calls);
  }
  return [calls] { calls->CancelAll(); };
}

std::set<std::string> CheckRunner::PairChecksOf(const knowledge::Knowledge& book,
                                                const v1::RunChecksRequest& request,
                                                const std::set<std::string>& checks,
                                                const std::set<std::string>& nodes) {
  std::set<std::string> paired;
  if (!request.bundle().empty() || nodes.size() < 2) return paired;
  for (const std::string& check : checks) {
    const knowledge::v1::Check& spec = *book.FindCheck(check);
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

std::set<std::string> CheckRunner::FromCache(const std::string& diagnosis, const std::string& node,
                                             const std::set<std::string>& checks,
                                             const std::map<std::string, std::string>& variants,
                                             FanOut& fan_out, const std::string& part) const {
  std::set<std::string> missing;
  for (const std::string& check : checks) {
    std::optional<CheckResult> known =
        cache_->Find(diagnosis, variants.at(check), absl::StrCat(check, "@", node), clock_.Now());
    if (known.has_value()) {
      fan_out.OnResult(node, *std::move(known), part);
    } else {
      missing.insert(check);
    }
  }
  return missing;
}

absl::StatusOr<clients::NodeClient*> CheckRunner::ClientOf(const std::string& bundle,
                                                           const std::string& node) const {
  clients::NodeClient* client = bundle.empty() ? registry_.Live(node) : registry_.ForBundle(node);
  if (client == nullptr) {
    return absl::NotFoundError(bundle.empty() ? "none is registered with execution (--nodes)"
                                              : "no executor may read bundles (--bundle_readers)");
  }
  if (!bundle.empty()) return client;
  if (const absl::Status allowed = breaker_->Allow(node, clock_.Now()); !allowed.ok()) {
    return allowed;
  }
  return client;
}

void CheckRunner::RunPairs(const Book& book, const v1::RunChecksRequest& request,
                           const std::string& check, const std::set<std::string>& nodes,
                           const std::map<std::string, std::string>& variants, absl::Time deadline,
                           const std::shared_ptr<FanOut>& fan_out,
                           const std::shared_ptr<CancelList>& calls) const {
  // All or none: a node alone cannot be tested again.
  const bool known = std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return cache_
        ->Find(request.diagnosis(), variants.at(check), absl::StrCat(check, "@", node),
               clock_.Now())
        .has_value();
  });
  std::map<std::string, clients::NodeClient*> able;
  for (const std::string& node : nodes) {
    const absl::StatusOr<clients::NodeClient*> client = ClientOf(request.bundle(), node);
    if (known) FromCache(request.diagnosis(), node, {check}, variants, *fan_out, check);
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
  const knowledge::v1::Check& spec = *book->FindCheck(check);
  const bool progress = request.progress();
  StartPairSweep(
      {.check = spec,
       .nodes = able,
       .call = CallOf(request, "", {check}),
       .pair_time = options_.node_timeout + TimeLimit(spec),
       .deadline = deadline,
       .clock = clock_,
       .calls = calls},
      [fan_out, check, progress](const std::string& node, CheckResult result) {
        if (result.status() == CheckResult::RUNNING && !progress) return;
        fan_out->OnResult(node, std::move(result), check);
      },
      [fan_out, check, able, book] {  // the sweep refers to its check
        for (const auto& [node, client] : able) {
          fan_out->OnNodeDone(node, absl::OkStatus(), check);
        }
      });
}

}  // namespace galen::execution
