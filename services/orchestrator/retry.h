#ifndef SERVICES_ORCHESTRATOR_RETRY_H_
#define SERVICES_ORCHESTRATOR_RETRY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"

namespace galen::orchestrator {

// The orchestrator is the one layer of the mesh that retries.

// How often a call is made before it has failed for good.
struct RetryLimits {
  // At an agent that cannot be reached or takes no more: with the waits below, about 36 s. A pod
  // that is killed is back within 30.
  int unreachable = 12;
  // At one that does not answer in time, which costs the whole time limit each time; and at one of
  // which another question of this round has been given up: about 3 s.
  int otherwise = 5;
};

// Whether the failure of attempt `attempt` (1 and up) ends the call: the error will not go away by
// itself, or enough was tried. Every call only reads, so a timeout may be retried too.
bool IsFinalFailure(absl::StatusCode code, int attempt, const RetryLimits& retry_limits);

// Longest wait.
inline constexpr absl::Duration kLongestBackoff = absl::Seconds(45);
// How long to wait after `attempts` failed ones: 0.2 s, twice as long after each, at most 5 s; and
// of that half as much up to half as much again, by `diagnosis` (its name) and the attempt, so that
// those that fail at the same time do not come back at the same time. Pure: the same after a
// restart.
absl::Duration BackoffAfter(absl::string_view diagnosis, int attempts);
// The same when the last one failed with `error`: longer where that asks for it, but not by much,
// as it comes from a peer.
absl::Duration BackoffAfter(absl::string_view diagnosis, int attempts,
                            const google::rpc::Status& error);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RETRY_H_
