#ifndef SERVICES_EXECUTION_REPAIRS_MESH_H_
#define SERVICES_EXECUTION_REPAIRS_MESH_H_

#include "services/execution/check_runner.h"
#include "services/execution/node_registry.h"
#include "services/execution/repairs/dry_runs.h"
#include "services/execution/repairs/repair_loop.h"

namespace galen::execution {

// The repair loop's access to the nodes. The arguments must outlive the results and their calls.
RepairLoop::Ask AskNodes(const NodeRegistry& registry);
RepairLoop::Check CheckNodes(const CheckRunner& runner);
// The same for dry runs.
DryRuns::Sees SeeNodes(const CheckRunner& runner);
DryRuns::Ask AskNodesAtOnce(const NodeRegistry& registry);
DryRuns::Check CheckNodesAtOnce(const CheckRunner& runner);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_MESH_H_
