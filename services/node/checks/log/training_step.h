#ifndef SERVICES_NODE_CHECKS_LOG_TRAINING_STEP_H_
#define SERVICES_NODE_CHECKS_LOG_TRAINING_STEP_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace galen::node {

// A trainer's report of one step.
struct TrainingStep {
  std::int64_t step = -1;
  std::optional<double> loss;  // may be NaN or infinite
  std::optional<double> grad_norm;
  std::optional<double> rate;  // of any unit that grows with speed
};

// Reads a line as Megatron, DeepSpeed, NeMo, torchtitan, MaxText, Hugging Face and their kin print
// it; nothing for a line without a step or without a loss. Pure.
std::optional<TrainingStep> ParseTrainingStep(absl::string_view line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_TRAINING_STEP_H_
