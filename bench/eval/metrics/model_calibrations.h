#ifndef BENCH_EVAL_METRICS_MODEL_CALIBRATIONS_H_
#define BENCH_EVAL_METRICS_MODEL_CALIBRATIONS_H_

#include <string>
#include <vector>

#include "galen/eval/v1/eval.pb.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::eval {

// How often the causes that a language model confirmed were right, by model and by what the
// built-in reasoner held of the cause. A cause that came with the true one does not count.
// `results` are those of `cases`, in the same order. Pure.
std::vector<knowledge::v1::LlmCalibration> MeasureModels(
    const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results);

// The sums of entries of the same model and opinion, as an overlay of the knowledge. Pure.
std::string CalibrationsYaml(const std::vector<knowledge::v1::LlmCalibration>& measured);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_MODEL_CALIBRATIONS_H_
