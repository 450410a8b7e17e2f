#ifndef SERVICES_ORCHESTRATOR_RETRY_H_
#define SERVICES_ORCHESTRATOR_RETRY_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"

namespace galen::orchestrator {

// The orchestrator is the one layer of the mesh that retries.
inline constexpr int kMaxAttempts = 5;

// Whether the failure of attempt `attempt` (1 and up) ends the call: the error will not go away by
// itself, or enough was tried. Every call only reads, so a timeout may be retried too.
bool IsFinalFailure(absl::StatusCode code, int attempt);

// How long to wait after `attempts` failed ones.
absl::Duration BackoffAfter(int attempts);
// The same when the last one failed with `error`: longer where that asks for it, but not by much,
// as it comes from a peer.
absl::Duration BackoffAfter(int attempts, const google::rpc::Status& error);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RETRY_H_
