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

// Runs the cases, `jobs` (1 and up) at a time, and gives their results in the order of the cases.
// With a store, what is in it is not run again, and what comes out without an error is kept.
// `on_done` is told of each, one at a time, with its place among the cases and whether it came from
// the store. The error is the store's; cases that run by then still end.
absl::StatusOr<std::vector<v1::CaseResult>> RunCases(
    const std::vector<v1::Case>& cases, const std::string& strategy, Mode mode, int jobs,
    const RunStore* store, const CaseFunctions& functions,
    const std::function<void(std::size_t at, const v1::CaseResult& result, bool kept)>& on_done);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_RUN_CASES_H_
