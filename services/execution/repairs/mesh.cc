#include "services/execution/repairs/mesh.h"

#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::execution {
namespace {

constexpr absl::Duration kCheckTime = absl::Minutes(2);
constexpr absl::Duration kLook = absl::Milliseconds(50);

}  // namespace

RepairLoop::Ask AskNodes(const NodeRegistry& registry) {
  return [&registry](const std::string& node, const node::v1::RepairRequest& request,
                     absl::Duration time, const Cancellation& cancelled) -> RepairLoop::Asked {
    using Answer = absl::StatusOr<node::v1::RepairResponse>;
    const absl::StatusOr<NodeRegistry::Node> live = registry.Live(node);
    if (!live.ok()) return {false, live.status()};
    const auto answer = std::make_shared<std::promise<Answer>>();
    std::future<Answer> came = answer->get_future();
    (*live)->Repair(request, SteadyNow() + time,
                    [answer](Answer given) { answer->set_value(std::move(given)); });
    // An action that began on the node goes on; the successor of this replica asks for its outcome.
    while (came.wait_for(absl::ToChronoMilliseconds(kLook)) != std::future_status::ready) {
      if (cancelled.cancelled()) return {true, absl::CancelledError("this program ends")};
    }
    return {true, came.get()};
  };
}

RepairLoop::Check CheckNodes(const CheckRunner& runner) {
  return [&runner](const std::string& node, const std::vector<std::string>& checks,
                   const Cancellation& cancelled) {
    struct Gathered {
      std::mutex mu;
      std::vector<galen::v1::CheckResult> results;
      std::promise<void> done;
    };
    const auto gathered = std::make_shared<Gathered>();
    v1::RunChecksRequest request;
    request.add_nodes(node);
    for (const std::string& check : checks) request.add_checks(check);
    const clients::Cancel cancel = runner.RunChecks(
        request, SteadyNow() + kCheckTime,
        [gathered](galen::v1::CheckResult result) {
          const std::lock_guard<std::mutex> lock(gathered->mu);
          gathered->results.push_back(std::move(result));
        },
        [gathered](const absl::Status&) { gathered->done.set_value(); });
    std::future<void> ended = gathered->done.get_future();
    bool asked_to_end = false;
    while (ended.wait_for(absl::ToChronoMilliseconds(kLook)) != std::future_status::ready) {
      if (cancelled.cancelled() && !std::exchange(asked_to_end, true)) cancel();
    }
    const std::lock_guard<std::mutex> lock(gathered->mu);
    return std::move(gathered->results);
  };
}

DryRuns::Sees SeeNodes(const CheckRunner& runner) {
  return [&runner](const std::string& diagnosis, const std::string& node) {
    return runner.SeenBy(diagnosis)(node);
  };
}

DryRuns::Ask AskNodesAtOnce(const NodeRegistry& registry) {
  return [&registry](const std::string& node, const node::v1::RepairRequest& request,
                     absl::Time deadline, clients::Done<node::v1::RepairResponse> done) {
    const absl::StatusOr<NodeRegistry::Node> client = registry.Live(node);
    if (!client.ok()) return std::move(done)(client.status());
    // (The client is held while its call is under way.)
    (*client)->Repair(request, deadline,
                      [client = *client, done = std::move(done)](
                          absl::StatusOr<node::v1::RepairResponse> answer) mutable {
                        std::move(done)(std::move(answer));
                      });
  };
}

DryRuns::Check CheckNodesAtOnce(const CheckRunner& runner) {
  return [&runner](const std::string& node, const std::vector<std::string>& checks,
                   absl::Time deadline,
                   absl::AnyInvocable<void(std::vector<galen::v1::CheckResult>) &&> done) {
    v1::RunChecksRequest request;
    request.add_nodes(node);
    for (const std::string& check : checks) request.add_checks(check);
    // (Without a diagnosis, whose results would be cached, and without a tenant: access to the node
    // was checked before.) They never overlap, and the end comes last.
    const auto results = std::make_shared<std::vector<galen::v1::CheckResult>>();
    runner.RunChecks(
        request, deadline,
        [results](galen::v1::CheckResult result) { results->push_back(std::move(result)); },
        [results, done = std::move(done)](const absl::Status&) mutable {
          std::move(done)(std::move(*results));
        });
  };
}

}  // namespace galen::execution
