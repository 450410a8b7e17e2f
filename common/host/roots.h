#ifndef COMMON_HOST_ROOTS_H_
#define COMMON_HOST_ROOTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::host {

// The real path of `path` (links resolved) when it lies in or below one of `roots`; without roots,
// wherever it lies. `flag` is the setting that names the roots, for the message.
// NOT_FOUND it does not exist; PERMISSION_DENIED it lies elsewhere. Says nothing of what lies
// outside the roots, not even whether it exists.
absl::StatusOr<std::string> ResolveWithin(const std::string& path,
                                          const std::vector<std::string>& roots,
                                          absl::string_view flag);

}  // namespace galen::host

#endif  // COMMON_HOST_ROOTS_H_
