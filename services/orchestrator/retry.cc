#include "services/orchestrator/retry.h"

#include <algorithm>

#include "google/rpc/error_details.pb.h"

namespace galen::orchestrator {

bool IsFinalFailure(absl::StatusCode code, int attempt) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return attempt >= kMaxAttempts;
    default:
      return true;
  }
}

absl::Duration BackoffAfter(int attempts) {
  constexpr absl::Duration kFirst = absl::Milliseconds(200);
  constexpr absl::Duration kMost = absl::Seconds(5);
  return std::min(kFirst * (1 << std::clamp(attempts - 1, 0, 10)), kMost);
}

absl::Duration BackoffAfter(int attempts, const google::rpc::Status& error) {
  constexpr absl::Duration kMostAskedFor = absl::Seconds(30);
  absl::Duration wait = BackoffAfter(attempts);
  for (const google::protobuf::Any& detail : error.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    wait = std::max(wait, std::min(absl::Seconds(info.retry_delay().seconds()), kMostAskedFor));
  }
  return wait;
}

}  // namespace galen::orchestrator
