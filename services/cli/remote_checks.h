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

// Runs checks through the execution agent at `address` and gives the results in the order in which
// they came. A request that names no node is for all that the agent holds. Blocks. What
// execution.proto says of errors, UNAVAILABLE when nobody answers there, INVALID_ARGUMENT when
// another service does, and FAILED_PRECONDITION
// when the address is not loopback and there are no certificates.
absl::StatusOr<std::vector<v1::CheckResult>> RunChecksAt(const std::string& address,
                                                         const rpc::SecurityOptions& security,
                                                         execution::v1::RunChecksRequest request,
                                                         absl::Duration time_limit);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REMOTE_CHECKS_H_
