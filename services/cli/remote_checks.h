#ifndef SERVICES_CLI_REMOTE_CHECKS_H_
#define SERVICES_CLI_REMOTE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/security.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::cli {

// The error of a call to the execution agent at `address`, with what a person can do about it.
absl::Status ExecutionError(const std::string& address, const absl::Status& status);

// Runs checks through the execution agent at `address` and returns the results in the order of
// arrival. A request that names no node covers all nodes of the agent. Blocks. Errors as of
// execution.proto; also UNAVAILABLE if nobody answers there, INVALID_ARGUMENT if another service
// does, and FAILED_PRECONDITION if the address is not loopback and there are no certificates.
absl::StatusOr<std::vector<v1::CheckResult>> RunChecksAt(const std::string& address,
                                                         const rpc::SecurityOptions& security,
                                                         execution::v1::RunChecksRequest request,
                                                         absl::Duration time_limit);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REMOTE_CHECKS_H_
