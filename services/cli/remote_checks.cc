#include "services/cli/remote_checks.h"

#include <future>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clients/grpc_clients.h"
#include "common/rpc/channel.h"

namespace galen::cli {

absl::StatusOr<std::vector<v1::CheckResult>> RunChecksAt(
    const std::string& address, const execution::v1::RunChecksRequest& request,
    absl::Duration time_limit) {
  // `done` comes last, so nothing touches the results once the future is set.
  std::vector<v1::CheckResult> results;
  const auto ended = std::make_shared<std::promise<absl::Status>>();
  const std::unique_ptr<clients::ExecutionClient> client =
      clients::MakeGrpcExecutionClient(rpc::Connect(address));
  client->RunChecks(
      request, absl::Now() + time_limit,
      [&results](v1::CheckResult result) {
        if (result.status() != v1::CheckResult::RUNNING) results.push_back(std::move(result));
      },
      [ended](absl::Status status) { ended->set_value(std::move(status)); });
  absl::Status status = ended->get_future().get();
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat(address, ": no answer from Galen there (",
                                               status.message(),
                                               "); see that galen-execution listens there"));
  }
  if (!status.ok()) return status;
  return results;
}

}  // namespace galen::cli
