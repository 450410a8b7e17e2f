#ifndef COMMON_BASE_RETRY_HINT_H_
#define COMMON_BASE_RETRY_HINT_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace galen {

// A status that says when it is worth trying again: how long to wait. On the wire it is a
// google.rpc.RetryInfo.
absl::Status WithRetryAfter(absl::Status status, absl::Duration wait);

// What the status says of it, from nothing up to an hour, whatever it says; none when it does not.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace galen

#endif  // COMMON_BASE_RETRY_HINT_H_
