#ifndef SERVICES_NODE_CHECKS_SYSTEM_VERSION_ORDER_H_
#define SERVICES_NODE_CHECKS_SYSTEM_VERSION_ORDER_H_

#include "absl/strings/string_view.h"

namespace galen::node {

// Negative, zero or positive as `a` is before, the same as or after `b`: "2.21.5" is after "2.9.6".
// Ignores a leading "v" or epoch ("1:"), and everything from the first part that is not a number
// ("+cu124", "-1", "rc1"); missing parts are 0. Pure.
int OrderVersions(absl::string_view a, absl::string_view b);

// Whether a version meets a range of conditions separated by commas: ">=2.21.5,<2.22.3",
// "==570.124", "!=2.5". "==" with fewer parts than the version matches every version that begins
// so. No version meets an empty or malformed range. Pure.
bool InVersionRange(absl::string_view version, absl::string_view range);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_VERSION_ORDER_H_
