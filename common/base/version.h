#ifndef COMMON_BASE_VERSION_H_
#define COMMON_BASE_VERSION_H_

#include "absl/strings/string_view.h"

namespace galen {

// The version of this build, "MAJOR.MINOR.PATCH", as the top CMakeLists.txt says it.
absl::string_view Version();

}  // namespace galen

#endif  // COMMON_BASE_VERSION_H_
