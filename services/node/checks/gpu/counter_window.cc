#include "services/node/checks/gpu/counter_window.h"

#include <utility>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "services/node/checks/gpu/gpu_query.h"

namespace galen::node {

absl::StatusOr<CounterWindow> WatchCounters(
    const CheckContext& context,
    const std::function<bool(const GpuState& before, const GpuState& after)>& moved) {
  const absl::Duration first = absl::Seconds(context.parameters.Number("window_s"));
  const absl::Duration whole = absl::Seconds(context.parameters.Number("long_window_s"));
  if (first <= absl::ZeroDuration()) {
    return absl::UnavailableError("no window was asked for");
  }
  GALEN_ASSIGN_OR_RETURN(GpuState before, QueryGpusAgain(context.host));
  const absl::Time start = SteadyNow();
  CounterWindow window;
  for (const absl::Duration until : {first, whole}) {
    const absl::Duration pause = start + until - SteadyNow();
    if (SteadyNow() + pause >= context.deadline) {
      if (window.length > absl::ZeroDuration()) break;
      return absl::DeadlineExceededError("no time is left to read the counters twice");
    }
    if (pause > absl::ZeroDuration() && context.cancelled.SleepFor(pause)) {
      return absl::CancelledError("cancelled while the counters were watched");
    }
    GALEN_ASSIGN_OR_RETURN(window.after, QueryGpusAgain(context.host));
    window.length = SteadyNow() - start;
    if (!moved(before, window.after)) break;
  }
  window.before = std::move(before);
  return window;
}

const Gpu* SameGpu(const Gpu& gpu, const GpuState& state) {
  for (const Gpu& other : state.gpus) {
    if (!gpu.uuid.empty() ? other.uuid == gpu.uuid : other.index == gpu.index) return &other;
  }
  return nullptr;
}

}  // namespace galen::node
