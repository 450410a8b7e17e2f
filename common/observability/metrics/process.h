#ifndef COMMON_OBSERVABILITY_METRICS_PROCESS_H_
#define COMMON_OBSERVABILITY_METRICS_PROCESS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "common/base/executor.h"
#include "common/observability/metrics/registry.h"

namespace galen::metrics {

// Processor time, memory, threads and files of this process, as /proc has them; what cannot be read
// is left out.
std::shared_ptr<const prometheus::Collectable> ProcessNumbers();

// How much waits in a pool, under the queue's name. `pool` must outlive what asks.
std::shared_ptr<const prometheus::Collectable> QueueNumbers(std::string queue,
                                                            const ThreadPool& pool);

// Adds the metrics that every program has: its process, the calls that it answers and those that it
// makes.
void AddProgram(Registry& registry);

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_PROCESS_H_
