#ifndef BENCH_EVAL_SUITE_SUITE_REPORT_H_
#define BENCH_EVAL_SUITE_SUITE_REPORT_H_

#include <string>
#include <vector>

#include "bench/eval/report/table.h"
#include "bench/eval/suite/run_suite.h"

namespace galen::eval {

// Scores of each ablation with their intervals, and what leaving each part out gained and lost,
// question by question. Pure.
std::vector<Table> SuiteTables(const SuiteResult& result);

// The same for programs: galen.suite-report/v1. Answers to test questions are reported as right or
// wrong, never in words. Pure.
std::string SuiteJson(const SuiteResult& result, const std::string& questions,
                      const std::string& knowledge_digest, const std::string& model);

// The answers to the dev questions that are not right with all parts, a line each; those of the
// test split are counted and not shown. Pure.
std::string DevFailures(const SuiteResult& result);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_SUITE_REPORT_H_
