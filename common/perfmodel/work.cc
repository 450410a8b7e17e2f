#include "common/perfmodel/work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/string_view.h"

namespace galen::perfmodel {
namespace {

// Matrix units need rows that begin on multiples of 16 bytes (NVIDIA, "Matrix Multiplication
// Background", docs.nvidia.com/deeplearning/performance, section 2.1).
constexpr double kAlignedBytes = 16;

double Of(std::int64_t value) { return static_cast<double>(value); }

// Whether a row of `whole` values, split into parts, suits the matrix units.
bool Suits(std::int64_t whole, std::int64_t parts, absl::string_view precision) {
  const auto aligned = static_cast<std::int64_t>(kAlignedBytes / ProductBytes(precision));
  return whole % parts == 0 && (whole / parts) % aligned == 0;
}

// Adam for one weight: reads the gradient, and weight, mean and variance in four bytes or more;
// writes these three, and the weight for products if that has a narrower type.
double OptimizerBytes(double kept) {
  const double state = std::max(4.0, kept);
  return kept + 6 * state + (kept < state ? kept : 0);
}

// A group whose ranks are `stride` GPUs apart, on nodes of this many GPUs.
Group GroupOf(std::int64_t ranks, std::int64_t stride, std::int64_t gpus_per_node) {
  const std::int64_t local = std::max<std::int64_t>(gpus_per_node / stride, 1);
  return {ranks, std::clamp<std::int64_t>(local, 1, ranks)};
}

// Operations of a layer for one token, forward: those on matrices that suit the units, and others.
std::pair<double, double> LayerFlops(const ModelShape& shape, std::int64_t tensor) {
  const double all = LayerFlopsPerToken(shape);
  const double scores = ScoreFlopsPerToken(shape);
  const double width = Of(shape.heads) * Of(shape.head_size);
  const double kv = Of(shape.kv_heads) * Of(shape.head_size);
  const double query = 2 * Of(shape.hidden) * (width + 2 * kv);
  const double out = 2 * Of(shape.hidden) * width;
  double odd = 0;
  if (!Suits(shape.head_size, 1, shape.precision)) odd += scores;
  if (!Suits(shape.heads * shape.head_size, tensor, shape.precision)) odd += query + out;
  if (!Suits(shape.ffn, tensor, shape.precision)) odd += all - scores - query - out;
  return {all - odd, odd};
}

// Bytes of memory that a layer's forward pass moves for one token, before splitting.
double LayerBytes(const ModelShape& shape, bool flash) {
  const double hidden = Of(shape.hidden);
  const double kept = KeptBytes(shape.precision);
  // With values of two bytes, 34: attention 11, norms 4, and a network of four times the width 19,
  // of which 16 by its width. Two dropout masks in the rest, and one of the scores' 5, are bytes
  // whatever the type of a value.
  const double rest = 8 * kept + 2;
  const double network =
      8 * kept * Of(shape.ffn) * (shape.gated ? 1.5 : 1.0) / (4 * hidden) * Of(shape.active);
  const double scores = flash ? 0 : (2 * kept + 1) * Of(shape.heads) * Of(shape.sequence) / hidden;
  return 2 * hidden * (rest + network + scores);
}

// The stage of a pipeline that the others wait for.
struct Stage {
  std::int64_t layers = 0;
  bool head = false;  // that scores the vocabulary
};

// All stages have the same number of layers, and the last also has the head, with the work of
// `head` layers (../shared/fixtures/training-log/megatron-ds-3d-n16-dsoff.out and
// megatron-gpt2-n4-v100-cancelled.out, "number of parameters on ... rank"). If layers do not divide
// evenly, the last has fewer.
Stage BusiestStage(std::int64_t layers, std::int64_t stages, double head) {
  const std::int64_t last = layers / stages;
  const std::int64_t others = (layers + stages - 1) / stages;
  if (Of(others) > Of(last) + head) return {others, false};
  return {last, true};
}

}  // namespace

StepWork WorkOf(const Job& job, const Machine& machine) {
  const ModelShape& shape = job.shape;
  const Layout& layout = job.layout;
  const double tensor = Of(layout.tensor);
  const double pipeline = Of(layout.pipeline);
  const double context = Of(layout.context);
  const double replicas = Of(layout.data);
  StepWork work;
  work.model_flops = FlopsPerStep(shape);
  work.weights = Weights(shape);
  work.micro_batches = Of(layout.MicroBatches(shape));

  const bool full = layout.recompute == Recompute::kFull && shape.training;
  const bool selective = layout.recompute == Recompute::kSelective && shape.training;
  const double passes = shape.training ? (full ? 4.0 : 3.0) : 1.0;
  // Tokens of a step that pass one stage, and the part of each on one of its GPUs.
  const double tokens = Of(shape.batch) / replicas * Of(shape.sequence);
  const double share = tokens / (tensor * context);
  const auto [even, odd] = LayerFlops(shape, layout.tensor);
  const double head = HeadFlopsPerToken(shape) * (shape.training ? 3.0 : 1.0);
  const double layer = (even + odd) * passes;
  const Stage busiest = BusiestStage(shape.layers, layout.pipeline, head / layer);
  const double layers = Of(busiest.layers);
  const double of_stage = layers * layer + (busiest.head ? head : 0);
  // While a pipeline fills and drains, a micro-batch passes all other stages.
  work.bubble = std::max(0.0, (Of(shape.layers) * layer + head) / of_stage - 1) /
                (Of(layout.chunks) * work.micro_batches);
  work.flops = share * layers * even * passes;
  work.odd_flops = share * layers * odd * passes;
  if (selective) {
    const bool suits = Suits(shape.head_size, 1, shape.precision);
    (suits ? work.flops : work.odd_flops) += share * layers * ScoreFlopsPerToken(shape);
  }
  if (busiest.head) work.flops += share * head;

  work.bytes = share * layers * LayerBytes(shape, layout.flash) * passes;
  const double experts = ExpertWeights(shape) * Of(shape.layers);
  const double dense = work.weights - experts;
  const double held =
      dense / (tensor * pipeline) + experts / (tensor * pipeline * Of(layout.expert));
  // Each micro-batch reads its weights once per pass.
  const double kept = KeptBytes(shape.precision);
  work.bytes += held * kept * passes * work.micro_batches;
  if (shape.training) {
    work.bytes += held * OptimizerBytes(kept) / (layout.zero > 0 ? replicas : 1.0);
  }

  const std::int64_t gpus = machine.gpus_per_node;
  const double piece = Of(layout.micro_batch) * Of(shape.sequence) / context * Of(shape.hidden) *
                       kept;  // activations of a micro-batch between two layers
  const double each = layers * work.micro_batches;
  if (layout.tensor > 1) {
    work.traffic.push_back({"tensor", Collective::kAllReduce, GroupOf(layout.tensor, 1, gpus),
                            piece, each * (shape.training ? (full ? 6.0 : 4.0) : 2.0), false});
  }
  if (layout.context > 1) {
    const double keys = 2 * Of(layout.micro_batch) * Of(shape.sequence) * Of(shape.kv_heads) *
                        Of(shape.head_size) * kept / tensor;
    work.traffic.push_back({"context", Collective::kAllGather,
                            GroupOf(layout.context, layout.tensor, gpus), keys, each * passes,
                            true});
  }
  if (layout.expert > 1) {
    const double chosen = Of(std::max<std::int64_t>(shape.active, 1));
    work.traffic.push_back({"expert", Collective::kAllToAll,
                            GroupOf(layout.expert, layout.tensor * layout.context, gpus),
                            piece / tensor * chosen, each * 2 * passes, false});
  }
  if (layout.pipeline > 1) {
    const std::int64_t stage = layout.tensor * layout.context * layout.data;
    work.traffic.push_back(
        {"pipeline", Collective::kSendReceive, GroupOf(2, stage, gpus), piece / tensor,
         work.micro_batches * Of(layout.chunks) * (shape.training ? 2.0 : 1.0), false});
  }
  if (layout.data * layout.context > 1 && shape.training) {
    const Group group = GroupOf(layout.data * layout.context, layout.tensor, gpus);
    const double bytes = held * kept;
    if (layout.zero == 3) {
      // Weights are gathered before each pass of a micro-batch, gradients are sent after it.
      work.traffic.push_back({"data", Collective::kAllGather, group, bytes,
                              (full ? 3.0 : 2.0) * work.micro_batches, true});
      work.traffic.push_back(
          {"data", Collective::kReduceScatter, group, bytes, work.micro_batches, true});
    } else {
      work.traffic.push_back({"data", Collective::kAllReduce, group, bytes, 1, true});
    }
  }
  return work;
}

}  // namespace galen::perfmodel
