#ifndef SERVICES_NODE_CHECKS_GPU_GPU_USE_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_USE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// Said of a GPU of which nobody can tell who uses it.
inline constexpr absl::string_view kUserUnknown = "nobody can tell whether another process uses it";

// FAILED_PRECONDITION: that, because of `why`, nobody can tell who uses the GPUs, and what to do.
absl::Status UsersUnknown(const absl::Status& why);

// Who computes on a GPU, "used by python (4711)"; "" nobody. No value: nobody can tell. Not by its
// utilization, which still shows the test before this one. `idle_memory_mib`: with more of its
// memory used and no process listed, a process of another container has it; none: that is not
// looked at. Pure.
std::optional<std::string> UserOf(const Gpu& gpu, std::optional<double> idle_memory_mib);

// OK when nobody computes on any GPU of this machine. FAILED_PRECONDITION names those who do, or
// says why nobody can tell. GPUs that the driver no longer reaches are nobody's.
absl::Status RequireIdleGpus(const host::Host& host, std::optional<double> idle_memory_mib);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_USE_H_
