#ifndef COMMON_PERFMODEL_JOB_H_
#define COMMON_PERFMODEL_JOB_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/model_shape.h"

namespace galen::perfmodel {

// The part of the forward pass that is recomputed in the backward pass instead of being kept:
// nothing, the attention parts quadratic in the sequence, or a whole layer.
enum class Recompute { kNone, kSelective, kFull };

// The distribution of a model over GPUs. Groups are in the order of Megatron: tensor parallel ranks
// are neighbours, then context, then data, then pipeline.
struct Layout {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;  // a part of data parallel
  std::int64_t data = 1;    // the rest of the GPUs
  std::int64_t micro_batch = 1;
  std::int64_t chunks = 1;  // of a pipeline's stage, interleaved
  std::int64_t zero = 0;    // stage: 1 optimizer, 2 gradients, 3 weights are split over data
  Recompute recompute = Recompute::kNone;
  bool flash = false;  // attention that never writes its scores to memory

  // Micro-batches that one replica takes in a step.
  std::int64_t MicroBatches(const ModelShape& shape) const {
    return shape.batch / (data * micro_batch);
  }
};

struct Job {
  ModelShape shape;
  Layout layout;
};

// The fields of ParseShape, and tp, pp, cp, ep, micro_batch, chunks, zero (0 to 3), recompute
// (none, selective, full) and flash. gpus is required. INVALID_ARGUMENT names the field, also if
// the groups do not divide the GPUs, or the micro-batches the batch.
absl::StatusOr<Job> ParseJob(absl::string_view text);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_JOB_H_
