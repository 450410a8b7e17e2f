#ifndef COMMON_HOST_ROOTS_H_
#define COMMON_HOST_ROOTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::host {

// The real path of `path` (links resolved) if it is in or below one of `roots`; without roots, any
// path. `flag` is the setting that names the roots, for the message. NOT_FOUND it does not exist;
// PERMISSION_DENIED it is outside. Reveals nothing about paths outside the roots, not even whether
// they exist.
absl::StatusOr<std::string> ResolveWithin(const std::string& path,
                                          const std::vector<std::string>& roots,
                                          absl::string_view flag);

}  // namespace galen::host

#endif  // COMMON_HOST_ROOTS_H_
