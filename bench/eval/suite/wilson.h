#ifndef BENCH_EVAL_SUITE_WILSON_H_
#define BENCH_EVAL_SUITE_WILSON_H_

namespace galen::eval {

// A share with its interval, all 0 to 1.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
};

// `right` of `all`, and the 95 % score interval of E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", 1927. Of none: 0 in [0, 1]. Pure.
Share WilsonShare(int right, int all);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_WILSON_H_
