#ifndef SERVICES_NODE_CHECKS_GPU_COUNTER_WINDOW_H_
#define SERVICES_NODE_CHECKS_GPU_COUNTER_WINDOW_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// Two readings of the GPUs and the time between them.
struct CounterWindow {
  GpuState before;
  GpuState after;
  absl::Duration length;
};

// Reads the counters of a live host twice, `first` apart. If `moved` says that something was
// counted, it reads on until `whole` has passed, so that one event does not become a rate. Both
// durations are parameters of the check: window_s and long_window_s.
//
// UNAVAILABLE where nothing can be read twice (a bundle); CANCELLED; DEADLINE_EXCEEDED when the
// window does not fit before the check's deadline; the errors of QueryGpusAgain.
absl::StatusOr<CounterWindow> WatchCounters(
    const CheckContext& context,
    const std::function<bool(const GpuState& before, const GpuState& after)>& moved);

// The GPU of that UUID, or of that number where it has none; nullptr when it is not there.
const Gpu* SameGpu(const Gpu& gpu, const GpuState& state);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_COUNTER_WINDOW_H_
