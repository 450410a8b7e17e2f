#ifndef BENCH_EVAL_RUNNER_RUN_CASES_H_
#define BENCH_EVAL_RUNNER_RUN_CASES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/eval/runner/mode.h"
#include "bench/eval/runner/run_store.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Diagnoses one case: CaseRunner::Run in the program, anything in a test. Called on any thread.
struct CaseFunctions {
  std::function<v1::CaseResult(const v1::Case& a_case, const std::string& strategy, Mode mode)> run;
  std::function<std::string(const v1::Case& a_case)> key_of;
};

// Runs the cases, at most `jobs` (1 and up) at a time, and returns their results in the order of
// the cases. With a store, stored results are reused, and results without an error are stored.
// `on_done` is called for each case, one at a time, with its place among the cases and whether its
// result came from the store. The error is the store's; cases that run by then still end.
absl::StatusOr<std::vector<v1::CaseResult>> RunCases(
    const std::vector<v1::Case>& cases, const std::string& strategy, Mode mode, int jobs,
    const RunStore* store, const CaseFunctions& functions,
    const std::function<void(std::size_t at, const v1::CaseResult& result, bool kept)>& on_done);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_RUN_CASES_H_
