#ifndef BENCH_EVAL_REPORT_PAGE_H_
#define BENCH_EVAL_REPORT_PAGE_H_

#include <string>

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// The numbers of a run as one HTML page with its plots, without scripts and external resources.
// Texts from the corpus are escaped. Pure.
std::string Page(const v1::Report& report);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_PAGE_H_
