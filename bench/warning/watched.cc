#include "bench/warning/watched.h"

#include <set>

namespace galen::bench {

void Watched::Grow(const std::vector<double>& values, std::int64_t minute,
                   std::vector<warning::Counter>& counters, std::vector<float>& growth) {
  counters.resize(values.size());
  growth.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) growth[i] = counters[i].Add(values[i], minute);
}

void Watched::Take() {
  const std::int64_t minute = fleet_.minute() + 1;
  Grow(fleet_.ecc(), minute, ecc_, ecc);
  Grow(fleet_.nvlink(), minute, nvlink_, nvlink);
  Grow(fleet_.pcie(), minute, pcie_, pcie);
  Grow(fleet_.retransmissions(), minute, retransmissions_, retransmissions);
  ones.assign(fleet_.memory_available().size(), 1.0F);
  planned.assign(fleet_.node_jobs().size(), false);
  std::set<std::int32_t> jobs;
  for (const testing::PlannedWork& work : fleet_.planned()) {
    // Who works on machines says so, and for how long they take to be themselves again.
    if (fleet_.minute() < work.from || fleet_.minute() >= work.until + 30) continue;
    planned[static_cast<std::size_t>(work.node)] = true;
    jobs.insert(fleet_.node_jobs()[static_cast<std::size_t>(work.node)]);
  }
  if (jobs.empty()) return;
  for (std::size_t node = 0; node < planned.size(); ++node) {
    const std::int32_t job = fleet_.node_jobs()[node];
    if (job >= 0 && jobs.contains(job)) planned[node] = true;
  }
}

}  // namespace galen::bench
