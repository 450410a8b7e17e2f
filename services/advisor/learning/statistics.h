#ifndef SERVICES_ADVISOR_LEARNING_STATISTICS_H_
#define SERVICES_ADVISOR_LEARNING_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace galen::advisor {

// P(X >= successes) of this many independent trials that each succeed with `probability`. Exact (by
// the regularised incomplete beta function). 1 if successes <= 0.
double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability);

// P(X >= hits) for `draws` without replacement from `all`, of which `marked` are marked: Fisher's
// exact test, one-sided. Contradictory arguments give 1.
double HypergeometricUpperTail(std::int64_t hits, std::int64_t draws, std::int64_t marked,
                               std::int64_t all);

// The same for the hits of several draws together, each from a separate whole: the exact test of a
// common odds ratio of 1 over strata (Gart, "Point and interval estimation of the common odds ratio
// in the combination of 2 x 2 tables with fixed marginals", 1970). With more than 256 hits by the
// normal distribution of Mantel and Haenszel (1959), with its correction for continuity. It is 1 if
// there are no more hits than several draws are expected to give.
struct Draw {
  std::int64_t draws = 0;
  std::int64_t marked = 0;
  std::int64_t all = 0;
};
double HypergeometricUpperTail(std::int64_t hits, absl::Span<const Draw> strata);

// P(Z >= z) of a standard normal Z.
double NormalUpperTail(double z);

// The discoveries among the hypotheses if at most a share of `q` of them may be false on average
// (Benjamini and Hochberg, "Controlling the False Discovery Rate", 1995): one flag for each
// p-value. A p-value that is not a number between 0 and 1 is not a discovery, but counts as a test.
std::vector<bool> BenjaminiHochberg(absl::Span<const double> p_values, double q);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_STATISTICS_H_
