#include "services/orchestrator/retry.h"

#include <algorithm>

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

}  // namespace galen::orchestrator
