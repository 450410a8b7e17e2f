#ifndef COMMON_PERFMODEL_MODEL_SHAPE_H_
#define COMMON_PERFMODEL_MODEL_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::perfmodel {

// A transformer, as declared by its user.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   // default: heads
  std::int64_t head_size = 0;  // default: hidden / heads
  std::int64_t ffn = 0;        // width of the feed-forward network; default: 4 * hidden
  bool gated = false;          // SwiGLU and similar: three matrices, not two
  std::int64_t experts = 1;    // of a layer
  std::int64_t active = 1;     // experts of a token, shared ones too
  std::int64_t vocabulary = 0;
  std::int64_t sequence = 0;
  std::int64_t batch = 0;  // sequences of a step, of all GPUs together
  std::int64_t gpus = 0;   // of the job; 0: from the trace
  std::string precision;   // "bf16": selects the peak
  bool training = true;    // else forward alone
};

// "layers=32,hidden=4096,heads=32,..."; all fields in docs/profiles.md. INVALID_ARGUMENT names the
// field and what it needs; nothing is guessed.
absl::StatusOr<ModelShape> ParseShape(absl::string_view text);

// Floating-point operations of the model itself for one token, forward: two for each weight of a
// matrix that it meets, and the scores and sums of attention over the whole sequence (Chowdhery et
// al., PaLM, arXiv:2204.02311, appendix B; weights as in Narayanan et al., arXiv:2104.04473,
// appendix). Recomputation does not count.
double ForwardFlopsPerToken(const ModelShape& shape);
// Operations of a step on all GPUs; a training step is three times forward.
double FlopsPerStep(const ModelShape& shape);

// Parts of ForwardFlopsPerToken: all layers are equal, plus the head that scores the vocabulary.
double LayerFlopsPerToken(const ModelShape& shape);
double HeadFlopsPerToken(const ModelShape& shape);
// Operations of one layer: scores of attention over the whole sequence, and the sums that they
// weigh.
double ScoreFlopsPerToken(const ModelShape& shape);

// Weights of matrices: of a layer with all its experts, of its experts alone, and of the whole
// model with an embedding that the head shares. Biases and norms, a thousandth of them, do not
// count.
double LayerWeights(const ModelShape& shape);
double ExpertWeights(const ModelShape& shape);
double Weights(const ModelShape& shape);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_MODEL_SHAPE_H_
