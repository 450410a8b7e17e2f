#include "services/execution/check_runner.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"

namespace galen::execution {
namespace {

constexpr int kMaxFindings = 10000;
constexpr std::size_t kMaxResultBytes = 4 << 20;

galen::v1::CheckResult ErrorResult(absl::string_view check, absl::string_view node,
                                   absl::string_view message) {
  galen::v1::CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(std::string(check));
  result.set_node(std::string(node));
  result.set_status(galen::v1::CheckResult::ERROR);
  result.set_message(std::string(message));
  return result;
}

// What is wrong with a result that a node sent for one of `wanted`, "" when it is sound. A node
// may lie or be broken; it must not speak for others, nor flood us.
std::string Unsound(const galen::v1::CheckResult& result, absl::string_view node,
                    const std::set<std::string>& wanted) {
  if (result.node() != node) return absl::StrCat("it answered for node ", result.node());
  if (wanted.count(result.check()) == 0) {
    return absl::StrCat("it answered check ", result.check(),
                        ", which was not asked or came twice");
  }
  if (result.id() != absl::StrCat(result.check(), "@", node)) return "its evidence id is malformed";
  if (result.status() < galen::v1::CheckResult::PASS ||
      result.status() > galen::v1::CheckResult::ERROR) {
    return "its status is not one of PASS, FAIL, SKIPPED, ERROR";
  }
  if (result.findings_size() > kMaxFindings || result.ByteSizeLong() > kMaxResultBytes) {
    return "it sent more than 10,000 findings or 4 MiB";
  }
  for (const galen::v1::Finding& finding : result.findings()) {
    if (!finding.subject().node().empty() && finding.subject().node() != node) {
      return absl::StrCat("a finding is about node ", finding.subject().node());
    }
  }
  return "";
}

// One RunChecks call over all its nodes.
class FanOut : public std::enable_shared_from_this<FanOut> {
 public:
  FanOut(std::size_t nodes, clients::OnMessage<galen::v1::CheckResult> on_result,
         absl::AnyInvocable<void(absl::Status) &&> done)
      : open_(nodes), on_result_(std::move(on_result)), done_(std::move(done)) {}

  void Add(const std::string& node, std::set<std::string> checks) {
    MutexLock lock(mu_);
    wanted_[node] = std::move(checks);
  }

  void OnResult(const std::string& node, galen::v1::CheckResult result) {
    MutexLock lock(mu_);
    std::set<std::string>& wanted = wanted_[node];
    const std::string fault = Unsound(result, node, wanted);
    if (!fault.empty()) {
      faults_[node] = fault;
      return;
    }
    wanted.erase(result.check());
    on_result_(std::move(result));
  }

  // The node is done; what it did not answer becomes ERROR.
  void OnNodeDone(const std::string& node, const absl::Status& status) {
    MutexLock lock(mu_);
    std::string why;
    if (!status.ok()) {
      why = absl::StrCat("node executor of ", node, ": ", status.message(),
                         "; see that galen-node runs there and can be reached");
    } else {
      why = absl::StrCat("node executor of ", node, " gave no sound answer");
      const auto fault = faults_.find(node);
      if (fault != faults_.end()) absl::StrAppend(&why, ": ", fault->second);
    }
    for (const std::string& check : wanted_[node]) on_result_(ErrorResult(check, node, why));
    wanted_[node].clear();
    if (--open_ == 0) std::move(done_)(absl::OkStatus());
  }

 private:
  Mutex mu_;
  std::size_t open_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::set<std::string>> wanted_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> faults_ ABSL_GUARDED_BY(mu_);
  clients::OnMessage<galen::v1::CheckResult> on_result_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void(absl::Status) &&> done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

CheckRunner::CheckRunner(const NodeRegistry& registry, const knowledge::Knowledge& knowledge,
                         const Clock& clock, Options options)
    : registry_(registry),
      knowledge_(knowledge),
      clock_(clock),
      options_(std::move(options)),
      breaker_(std::make_shared<NodeBreaker>(options_.node_pause)) {}

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
  auto fan_out = std::make_shared<FanOut>(nodes.size(), std::move(on_result), std::move(done));
  for (const std::string& node : nodes) fan_out->Add(node, checks);
  const absl::Time node_deadline = std::min(deadline, clock_.Now() + options_.node_timeout);
  for (const std::string& node : nodes) {
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
    node::v1::RunChecksRequest call;
    for (const std::string& check : checks) call.add_checks(check);
    call.set_node(node);
    call.set_bundle(request.bundle());
    if (request.has_start_time()) *call.mutable_start_time() = request.start_time();
    if (request.has_end_time()) *call.mutable_end_time() = request.end_time();
    call.set_allow_intrusive(request.allow_intrusive());
    client->RunChecks(
        call, node_deadline,
        [fan_out, node](galen::v1::CheckResult result) {
          fan_out->OnResult(node, std::move(result));
        },
        [fan_out, node, breaker = breaker_, &clock = clock_](const absl::Status& status) {
          breaker->Record(node, status, clock.Now());
          fan_out->OnNodeDone(node, status);
        });
  }
}

}  // namespace galen::execution
