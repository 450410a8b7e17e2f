#ifndef COMMON_PERFMODEL_STEADY_MEAN_H_
#define COMMON_PERFMODEL_STEADY_MEAN_H_

#include <cstddef>

#include "absl/types/span.h"

namespace galen::perfmodel {

// Decides when the mean of repeated measurements is known well enough.
struct StopRule {
  double half_width = 0.01;  // of the interval, as a share of the mean
  double confidence = 0.95;  // probability that the mean lies in it, over all looks together
  std::size_t first_look = 40;
};

// The result of the samples so far.
struct SteadyMean {
  bool warm = false;        // the samples after `warm_up` have no start-up trend
  bool enough = false;      // warm, and the interval is narrow enough
  std::size_t warm_up = 0;  // samples that do not count
  std::size_t used = 0;     // samples that do, in whole batches
  double mean = 0;
  double low = 0;
  double high = 0;
};

// Judges the samples of one measurement in the order in which they were taken. Samples count in
// powers of two times rule.first_look (the others wait), and each look may be wrong with a part of
// 1 - confidence so that all looks together keep it. So a caller that repeats until `enough` may
// trust the interval. Warm-up is cut where the standard error of the rest is least (MSER: White,
// "An Effective Truncation Heuristic for Bias Reduction in Simulation Output", Simulation 69,
// 1997); it is `warm` where that is within the first half. Consecutive samples are not independent,
// so the interval is Student's of the means of 10 batches (Law and Kelton, "Simulation Modeling and
// Analysis", section 9.5.3). Samples that are not finite, and fewer than first_look, are not
// enough.
SteadyMean JudgeSamples(absl::Span<const double> samples, const StopRule& rule = {});

// Student's t: the quantile of probability `p` (0.5 < p < 1), `freedom` >= 1.
double StudentQuantile(double p, double freedom);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_STEADY_MEAN_H_
