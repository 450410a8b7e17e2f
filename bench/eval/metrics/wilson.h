#ifndef BENCH_EVAL_METRICS_WILSON_H_
#define BENCH_EVAL_METRICS_WILSON_H_

#include <cstdint>

namespace galen::eval {

// A share with its interval, all 0 to 1.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
};

// `right` of `all`, and the 95 % score interval of E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", 1927. Without any: 0 in [0, 1]. Pure.
Share WilsonShare(std::int64_t right, std::int64_t all);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_WILSON_H_
