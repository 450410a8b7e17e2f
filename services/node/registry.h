#ifndef SERVICES_NODE_REGISTRY_H_
#define SERVICES_NODE_REGISTRY_H_

#include <vector>

#include "services/node/checks/check.h"

namespace galen::node {

// All native checks that this program has, ordered by name.
std::vector<NamedCheck> AllChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_REGISTRY_H_
