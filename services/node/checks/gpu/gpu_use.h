#ifndef SERVICES_NODE_CHECKS_GPU_GPU_USE_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_USE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// The remark about a GPU whose user is unknown.
inline constexpr absl::string_view kUserUnknown = "nobody can tell whether another process uses it";

// FAILED_PRECONDITION: because of `why`, the users of the GPUs are unknown; says what to do.
absl::Status UsersUnknown(const absl::Status& why);

// The process that computes on a GPU, "used by python (4711)"; "" for none; no value if that is
// unknown. Does not use the GPU's utilization, which still shows the test before this one. With
// more than `idle_memory_mib` of its memory used and no process listed, a process of another
// container has the GPU; without a value, memory is ignored. Pure.
std::optional<std::string> UserOf(const Gpu& gpu, std::optional<double> idle_memory_mib);

// OK when no process computes on any GPU of this machine. FAILED_PRECONDITION names those that do,
// or says why they are unknown. GPUs that the driver no longer reaches count as unused.
absl::Status RequireIdleGpus(const host::Host& host, std::optional<double> idle_memory_mib);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_USE_H_
