#ifndef BENCH_EVAL_REPORT_FAILURES_H_
#define BENCH_EVAL_REPORT_FAILURES_H_

#include <string>

#include "bench/eval/metrics/score.h"
#include "galen/eval/v1/eval.pb.h"
#include "services/cli/terminal.h"

namespace galen::eval {

// Explains a wrong case to the person who tunes the knowledge: the expected and the actual labels,
// the evidence for and against each of them in its verdict, and the checks that gave no answer.
// Several lines, each with a newline. Pure.
std::string TellFailure(const v1::Case& a_case, const v1::CaseResult& result,
                        const CaseScore& score, const cli::Terminal& terminal);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_FAILURES_H_
