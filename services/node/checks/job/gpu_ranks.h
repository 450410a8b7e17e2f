#ifndef SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_
#define SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/node/checks/system/listings.h"

namespace galen::node {

// Processes that compute on each GPU, by the driver's index, of `nvidia-smi -q -x`; a GPU without
// any has an empty set. Nothing where the output has no GPU, or hides its processes. Pure.
std::optional<std::map<int, std::set<std::int64_t>>> ComputeProcesses(absl::string_view xml);

// How many ranks of one job each GPU has: of its processes, the most that run one command line
// which several processes of the machine run on GPUs. GPUs without such are left out. Pure.
std::map<int, int> RanksOnGpus(const std::map<int, std::set<std::int64_t>>& on_gpu,
                               const std::vector<ListedProcess>& processes);

// Whether all ranks took the first of the GPUs that they see ("2,3,4,5"). Nothing: the list names
// fewer than two GPUs or no numbers, or fewer than two ranks are on GPUs. Pure.
std::optional<bool> AllOnFirstVisible(const std::map<int, int>& ranks, absl::string_view visible);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_
