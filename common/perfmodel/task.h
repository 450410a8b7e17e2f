#ifndef COMMON_PERFMODEL_TASK_H_
#define COMMON_PERFMODEL_TASK_H_

namespace galen::perfmodel {

// The seconds that a task needs of each resource of a GPU if it had that one alone: its demand (M)
// divided by the resource's rate (N). A task of one resource runs N/M times a second
// (../shared/papers/baai-cluster-diagnosis-agent.txt, section 4.2.2).
struct Demand {
  double compute = 0;
  double memory = 0;
  double interconnect = 0;
};

// The duration of a task of several resources: products of matrices and memory traffic alternate,
// the interconnect works beside both (the same section, figure 3), here to the degree `overlap`: 1:
// everything that fits overlaps; 0: all alternate. Values outside 0 to 1 count as the nearer end.
double Combined(const Demand& demand, double overlap);

// The part of demand.interconnect that does not overlap in Combined.
double Exposed(const Demand& demand, double overlap);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_TASK_H_
