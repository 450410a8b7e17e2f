#include "services/execution/node_dispatcher.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

constexpr std::size_t kReadersAsked = 2;

// The batch's own name of the node, or of its first one.
const std::string& NodeOf(const Batch& batch, const std::string& node) {
  const auto at = std::lower_bound(batch.nodes.begin(), batch.nodes.end(), node);
  return at != batch.nodes.end() && *at == node ? *at : batch.nodes.front();
}

}  // namespace

absl::Status NoExecutor() {
  return absl::NotFoundError("none is registered with execution, nor named by --nodes");
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

absl::Time NodeDispatcher::NodeDeadline() const {
  return std::min(deadline_, parts_.clock.Now() + node_time_);
}

void NodeDispatcher::GiveUp(const Batch& batch, const absl::Status& status,
                            const NodeCalls::Ended& ended) {
  for (const std::string& node : batch.nodes) parts_.fan_out->OnNodeDone(node, status);
  ended({});
}

void NodeDispatcher::Ask(const Batch& batch, const NodeCalls::Ended& ended) {
  if (parts_.calls->cancelled()) {
    GiveUp(batch, absl::CancelledError("it was not asked: the call was cancelled"), ended);
  } else if (parts_.clock.Now() >= deadline_) {
    GiveUp(batch,
           absl::DeadlineExceededError("it was not asked: the time of the call was over before"),
           ended);
  } else if (!request_.bundle().empty()) {
    AskReader(batch.nodes.front(), /*attempt=*/0, ended);
  } else if (!batch.replica.empty()) {
    AskReplica(batch, ended);
  } else {
    AskExecutor(batch, ended);
  }
}

void NodeDispatcher::AskExecutor(Batch batch, const NodeCalls::Ended& ended) {
  if (!parts_.breaker->quiet()) {
    std::vector<std::string> allowed;
    const absl::Time now = parts_.clock.Now();
    for (std::string& node : batch.nodes) {
      const absl::Status may = parts_.breaker->Allow(parts_.registry.KeyOf(node), now);
      if (may.ok()) {
        allowed.push_back(std::move(node));
      } else {
        parts_.fan_out->OnNodeDone(node, may);
      }
    }
    batch.nodes = std::move(allowed);
    if (batch.nodes.empty()) return ended({});
  }
  const absl::StatusOr<NodeRegistry::Node> client = parts_.registry.Live(batch.nodes.front());
  if (!client.ok()) {
    const bool unknown = absl::IsNotFound(client.status());
    return GiveUp(batch, unknown ? NoExecutor() : client.status(), ended);
  }
  node::v1::RunChecksRequest call = CallOf(request_, batch.nodes.front(), batch.checks);
  for (std::size_t i = 1; i < batch.nodes.size(); ++i) call.add_more_nodes(batch.nodes[i]);
  const auto asked = std::make_shared<const Batch>(std::move(batch));
  parts_.calls->Add((*client)->RunChecks(
      call, NodeDeadline(),
      [self = shared_from_this(), asked](CheckResult result) {
        // One that speaks for a node that was not asked is caught as the first one's lie.
        const std::string& node = NodeOf(*asked, result.node());
        self->parts_.fan_out->OnResult(node, std::move(result));
      },
      [self = shared_from_this(), asked, client = *client, ended](const absl::Status& status) {
        self->Record(*asked, status);
        for (const std::string& node : asked->nodes) {
          self->parts_.fan_out->OnNodeDone(node, status);
        }
        ended({});
      }));
}

void NodeDispatcher::Record(const Batch& batch, const absl::Status& status) {
  if (status.ok() && parts_.breaker->quiet()) return;
  const absl::Time now = parts_.clock.Now();
  for (const std::string& node : batch.nodes) {
    // In a batch of several nodes, those that answered are not silent.
    const bool answered =
        !status.ok() && batch.nodes.size() > 1 && parts_.fan_out->Owed(node).empty();
    parts_.breaker->Record(parts_.registry.KeyOf(node), answered ? absl::OkStatus() : status, now);
  }
}

std::vector<Batch> NodeDispatcher::OwedOf(const Batch& batch) {
  std::map<std::pair<std::string, std::set<std::string>>, Batch> owed;
  for (const std::string& node : batch.nodes) {
    const std::set<std::string> checks = parts_.fan_out->Owed(node);
    const std::string place = parts_.registry.PlaceOf(node);
    if (checks.empty()) {
      parts_.fan_out->OnNodeDone(node, absl::OkStatus());
      continue;
    }
    Batch& mine = owed[{place.empty() ? node : place, checks}];
    mine.nodes.push_back(node);
    mine.checks = checks;
  }
  std::vector<Batch> batches;
  batches.reserve(owed.size());
  for (auto& [key, mine] : owed) batches.push_back(std::move(mine));
  return batches;
}

void NodeDispatcher::AskReplica(const Batch& batch, const NodeCalls::Ended& ended) {
  const absl::Status may = parts_.peer_breaker->Allow(batch.replica, parts_.clock.Now());
  const auto client = may.ok() ? parts_.peers->Connect(batch.replica) : may;
  if (!client.ok()) return ended(OwedOf(batch));
  v1::RunChecksRequest share = request_;
  share.mutable_checks()->Clear();
  for (const std::string& check : batch.checks) share.add_checks(check);
  for (const std::string& node : batch.nodes) share.add_nodes(node);
  const auto asked = std::make_shared<const Batch>(batch);
  parts_.calls->Add((*client)->RunShare(
      share, NodeDeadline(),
      [self = shared_from_this(), asked](CheckResult result) {
        const std::string& node = NodeOf(*asked, result.node());
        self->parts_.fan_out->OnResult(node, std::move(result));
      },
      [self = shared_from_this(), asked, client = *client, ended](const absl::Status& status) {
        if (!self->parts_.calls->cancelled()) {
          self->parts_.peer_breaker->Record(asked->replica, status, self->parts_.clock.Now());
        }
        // This replica asks the nodes that the other one could not answer for.
        ended(self->OwedOf(*asked));
      }));
}

// Any reader can read a bundle, so a silent reader says nothing about the bundle. Another reader is
// asked once for the missing results; without one the call can be repeated.
void NodeDispatcher::AskReader(const std::string& node, std::size_t attempt,
                               const NodeCalls::Ended& ended) {
  clients::NodeClient* const reader = parts_.registry.ForBundle(node, attempt);
  if (reader == nullptr) {
    parts_.fan_out->OnNodeDone(
        node, absl::NotFoundError("no executor may read bundles (--bundle_readers)"));
    return ended({});
  }
  parts_.calls->Add(reader->RunChecks(
      CallOf(request_, node, parts_.fan_out->Owed(node)), NodeDeadline(),
      [self = shared_from_this(), node](CheckResult result) {
        self->parts_.fan_out->OnResult(node, std::move(result));
      },
      [self = shared_from_this(), node, attempt, ended](const absl::Status& status) {
        if (!absl::IsUnavailable(status)) {
          self->parts_.fan_out->OnNodeDone(node, status);
        } else if (attempt + 1 < kReadersAsked &&
                   self->parts_.registry.ForBundle(node, attempt + 1) != nullptr) {
          return self->AskReader(node, attempt + 1, ended);
        } else {
          self->parts_.fan_out->OnNobodyThere(
              node, absl::UnavailableError(absl::StrCat(
                        "no reader of bundles answers (--bundle_readers): ", status.message())));
        }
        ended({});
      }));
}

}  // namespace galen::execution
