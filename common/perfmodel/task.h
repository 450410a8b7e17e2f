#ifndef COMMON_PERFMODEL_TASK_H_
#define COMMON_PERFMODEL_TASK_H_

namespace galen::perfmodel {

// Seconds that a task needs of each resource of a GPU if it had that one alone: what it demands (M)
// over what is there of it in a second (N). A task of one resource runs N/M times a second
// (../shared/papers/baai-cluster-diagnosis-agent.txt, section 4.2.2).
struct Demand {
  double compute = 0;
  double memory = 0;
  double interconnect = 0;
};

// How long a task of several resources takes: products of matrices and traffic of memory take
// turns, the interconnect works beside both (the same section, figure 3), here to the degree
// `overlap`: 1: whatever fits hides; 0: all take turns. Values outside 0 to 1 count as the nearer
// end.
double Combined(const Demand& demand, double overlap);

// The part of demand.interconnect that Combined does not hide.
double Exposed(const Demand& demand, double overlap);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_TASK_H_
