#ifndef SERVICES_NODE_CHECKS_SYSTEM_FLAG_H_
#define SERVICES_NODE_CHECKS_SYSTEM_FLAG_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The finding of a flag of the node that may not be known.
inline galen::v1::Finding FlagOrUnknown(absl::string_view name, const std::string& node,
                                        std::optional<bool> value) {
  return value.has_value() ? BoolFinding(name, node, "", *value) : UnknownFinding(name, node, "");
}

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_FLAG_H_
