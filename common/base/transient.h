#ifndef COMMON_BASE_TRANSIENT_H_
#define COMMON_BASE_TRANSIENT_H_

#include "absl/status/status.h"

namespace galen {

// Whether the error of a call may be gone when it is repeated: the other side was away, busy, too
// slow or lost a race. A caller that knows of more in its own case names them beside.
inline bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

}  // namespace galen

#endif  // COMMON_BASE_TRANSIENT_H_
