#include "common/perfmodel/task.h"

#include <algorithm>

namespace galen::perfmodel {

double Exposed(const Demand& demand, double overlap) {
  const double work = demand.compute + demand.memory;
  return demand.interconnect - std::clamp(overlap, 0.0, 1.0) * std::min(work, demand.interconnect);
}

double Combined(const Demand& demand, double overlap) {
  return demand.compute + demand.memory + Exposed(demand, overlap);
}

}  // namespace galen::perfmodel
