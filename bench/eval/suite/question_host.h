#ifndef BENCH_EVAL_SUITE_QUESTION_HOST_H_
#define BENCH_EVAL_SUITE_QUESTION_HOST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/eval/suite/questions.h"
#include "common/host/archive.h"
#include "common/host/bundle.h"

namespace galen::eval {

// The hosts of a question as a support bundle in a temporary directory, which lives as long.
struct QuestionHosts {
  host::TemporaryDirectory directory;
  std::shared_ptr<const host::Bundle> bundle;
};

// UNAVAILABLE: the directory cannot be written.
absl::StatusOr<QuestionHosts> OpenHosts(const Question& question);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_QUESTION_HOST_H_
