#ifndef COMMON_BASE_NAMES_H_
#define COMMON_BASE_NAMES_H_

#include "absl/strings/string_view.h"

namespace galen {

// One segment of a resource name, as in tenants/SEGMENT/diagnoses/SEGMENT: 1 to 63 characters of
// a-z, 0-9 and "-".
bool IsSegment(absl::string_view text);

}  // namespace galen

#endif  // COMMON_BASE_NAMES_H_
