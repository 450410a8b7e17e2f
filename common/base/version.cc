#include "common/base/version.h"

namespace galen {

absl::string_view Version() { return GALEN_VERSION; }

}  // namespace galen
