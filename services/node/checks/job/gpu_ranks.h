#ifndef SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_
#define SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/node/checks/system/listings.h"

namespace galen::node {

// Processes that compute on one GPU, each with the MIG instance that it has, "2/0" of GPU instance
// and compute instance; "" on a GPU that is not divided.
using GpuProcesses = std::map<std::int64_t, std::string>;

// Those of each GPU, by the driver's index, of `nvidia-smi -q -x`; a GPU without any has none.
// Nothing where the output has no GPU, or hides its processes. Pure.
std::optional<std::map<int, GpuProcesses>> ComputeProcesses(absl::string_view xml);

// How many ranks of one job share each GPU, of a divided one the fullest of its MIG instances: of
// its processes, the most that run one command line which several processes of the machine run on
// GPUs. GPUs without such are left out. Pure.
std::map<int, int> RanksOnGpus(const std::map<int, GpuProcesses>& on_gpu,
                               const std::vector<ListedProcess>& processes);

// Devices that a process can take, of `nvidia-smi -L`: of a GPU that is divided its MIG instances,
// else the GPU. Nothing where the output names no GPU. Pure.
std::optional<std::int64_t> ListedDevices(absl::string_view listing);

// Whether all ranks took the first of the GPUs that they see ("2,3,4,5"). Nothing: the list names
// fewer than two GPUs or no numbers, or fewer than two ranks are on GPUs. Pure.
std::optional<bool> AllOnFirstVisible(const std::map<int, int>& ranks, absl::string_view visible);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_GPU_RANKS_H_
