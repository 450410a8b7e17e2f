#include "services/cli/remote_checks.h"

#include <future>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/clients/grpc_clients.h"
#include "common/rpc/replicas/replicas.h"

namespace galen::cli {

absl::Status ExecutionError(const std::string& address, const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat(address, ": no answer from Galen there (",
                                               status.message(),
                                               "); see that galen-execution listens there"));
  }
  if (absl::IsUnimplemented(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        address,
        " is not an execution agent; name the address of a galen-execution (docs/operations.md)"));
  }
  return status;
}

absl::StatusOr<std::vector<v1::CheckResult>> RunChecksAt(const std::string& address,
                                                         const rpc::SecurityOptions& options,
                                                         execution::v1::RunChecksRequest request,
                                                         absl::Duration time_limit) {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Security> security,
                         rpc::Security::Open(options));
  GALEN_ASSIGN_OR_RETURN(auto replicas,
                         rpc::Replicas::Connect(address, *security, {security::Role::kExecution}));
  const std::unique_ptr<clients::ExecutionClient> client =
      clients::MakeGrpcExecutionClient(std::move(replicas));
  const absl::Time deadline = absl::Now() + time_limit;
  if (request.nodes().empty()) {
    execution::v1::ResolveNodesRequest all;
    all.set_bundle(request.bundle());
    const auto found =
        std::make_shared<std::promise<absl::StatusOr<execution::v1::ResolveNodesResponse>>>();
    client->ResolveNodes(all, deadline,
                         [found](absl::StatusOr<execution::v1::ResolveNodesResponse> response) {
                           found->set_value(std::move(response));
                         });
    absl::StatusOr<execution::v1::ResolveNodesResponse> nodes = found->get_future().get();
    if (!nodes.ok()) return ExecutionError(address, nodes.status());
    *request.mutable_nodes() = nodes->nodes();
  }
  // `done` comes last, so nothing touches the results once the future is set.
  std::vector<v1::CheckResult> results;
  const auto ended = std::make_shared<std::promise<absl::Status>>();
  client->RunChecks(
      request, deadline,
      [&results](v1::CheckResult result) {
        if (result.status() != v1::CheckResult::RUNNING) results.push_back(std::move(result));
      },
      [ended](absl::Status status) { ended->set_value(std::move(status)); });
  absl::Status status = ended->get_future().get();
  if (!status.ok()) return ExecutionError(address, status);
  return results;
}

}  // namespace galen::cli
