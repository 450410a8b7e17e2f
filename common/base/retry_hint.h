#ifndef COMMON_BASE_RETRY_HINT_H_
#define COMMON_BASE_RETRY_HINT_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace galen {

// A status that says when it is worth trying again: how long to wait. On the wire it is a
// google.rpc.RetryInfo.
absl::Status WithRetryAfter(absl::Status status, absl::Duration wait);

// The wait that the status suggests, cut to between zero and an hour; none without a suggestion.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace galen

#endif  // COMMON_BASE_RETRY_HINT_H_
