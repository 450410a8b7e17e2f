#ifndef COMMON_PERFMODEL_WORK_H_
#define COMMON_PERFMODEL_WORK_H_

#include <string>
#include <vector>

#include "common/perfmodel/collective.h"
#include "common/perfmodel/job.h"
#include "common/perfmodel/machine.h"

namespace galen::perfmodel {

// Collectives of one kind that a GPU takes part in.
struct Traffic {
  std::string what;  // "tensor", "context", "expert", "pipeline", "data"
  Collective kind = Collective::kAllReduce;
  Group group;
  double bytes = 0;    // of one
  double times = 0;    // in a step
  bool hides = false;  // work continues meanwhile: gradients, weights ahead of their layer
};

// The work of a transformer's step on the busiest GPU. The parts that a micro-batch repeats are
// those of a whole step; waiting for a pipeline to fill is not included.
struct StepWork {
  double model_flops = 0;  // of all GPUs, without recomputation
  double flops = 0;        // on matrices whose sizes suit the matrix units
  double odd_flops = 0;    // on other matrices
  double bytes = 0;        // of memory: activations, and the optimizer's reads and writes
  std::vector<Traffic> traffic;
  double micro_batches = 0;
  double bubble = 0;   // share of the work that filling and draining a pipeline adds
  double weights = 0;  // of all GPUs
};

// Operations as in model_shape.h; bytes of activations after Korthikanti et al. (arXiv:2205.05198,
// section 4: s b h (34 + 5 a s / h) a layer with values of two bytes, each written and read), of
// Adam with weights as KeptBytes and its state in four or more (Rajbhandari et al.,
// arXiv:1910.02054, section 3); collectives of tensor and pipeline parallelism after Narayanan et
// al. (arXiv:2104.04473, sections 2.2 and 3.2) and of ZeRO after Rajbhandari et al., section 7. The
// busiest stage of a pipeline counts: layers are not divided, and the last stage has the head too.
StepWork WorkOf(const Job& job, const Machine& machine);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_WORK_H_
