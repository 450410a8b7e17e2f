#ifndef COMMON_RPC_STATUS_H_
#define COMMON_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace galen::rpc {

// The wire form of a status: code and message as they are, and a google.rpc.Status with exactly one
// google.rpc.ErrorInfo (domain "galen", reason: the payload's if the status carries one, else the
// name of the code) in the details, as AIP-193 asks. When it
// is worth trying again (common/base/retry_hint.h) is a google.rpc.RetryInfo beside it.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The way back; keeps the ErrorInfo as a payload, and when to try again.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace galen::rpc

#endif  // COMMON_RPC_STATUS_H_
