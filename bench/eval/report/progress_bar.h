#ifndef BENCH_EVAL_REPORT_PROGRESS_BAR_H_
#define BENCH_EVAL_REPORT_PROGRESS_BAR_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace galen::eval {

// The progress of a run.
struct RunProgress {
  std::string name;
  std::size_t done = 0;
  std::size_t kept = 0;  // of these, taken from an earlier run
  std::size_t all = 0;
  std::size_t right = 0;
  absl::Duration elapsed;
};

// One line of at most `width` columns: a bar, counts, and how long it still takes by the pace of
// the cases that were run. Without newline. Pure.
std::string ProgressLine(const RunProgress& progress, int width);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_PROGRESS_BAR_H_
