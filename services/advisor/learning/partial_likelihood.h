#ifndef SERVICES_ADVISOR_LEARNING_PARTIAL_LIKELIHOOD_H_
#define SERVICES_ADVISOR_LEARNING_PARTIAL_LIKELIHOOD_H_

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "services/advisor/learning/life_counts.h"
#include "services/advisor/learning/run_record.h"

// Cox's partial likelihood (1972) of counts, with Breslow's baseline: its maximum, and the
// probability of the observations if a sign has no effect.
namespace galen::advisor {

// By place in a list of signs.
using Effects = std::array<double, kMostSigns>;
using EffectMatrix = std::vector<Effects>;

// Defines the groups that are compared. A stratum contains runs of one age on machines of one kind.
// (With workloads as well they would be so small that the hours that a failure cuts short are part
// of the comparison.)
struct Strata {
  std::vector<LifeCounts::Cell> cells;  // stratum by stratum
  std::vector<double> hours;            // theirs, times what their workloads add

  // The first cell of the stratum after the one that begins at `begin`.
  std::size_t EndOf(std::size_t begin) const;
};
Strata StrataOf(absl::Span<const LifeCounts::Cell> cells);

// The sum of effect times level over the signs `which`.
double Score(const Effects& effects, const Signs& signs, absl::Span<const std::size_t> which);

struct Estimate {
  Effects effects{};        // in order of `which`
  EffectMatrix covariance;  // the inverse of the information
  double likelihood = 0;    // log, up to a constant that is the same for all effects
  double information = 0;   // log of its determinant
};
// The maximum of the likelihood, by Newton's method from `from`. Nothing if there is no maximum, or
// the effects cannot be distinguished.
std::optional<Estimate> Maximise(const Strata& strata, absl::Span<const std::size_t> which,
                                 const Effects& from);

// The probability of at least as large an effect of which[tested] if it has none, all else being
// free; one-sided. `full`: the maximum with all of `which`. 1 if nothing can be said.
//
// Given the hours and the failures of each stratum, levels are an exponential family: the
// likelihood's signed root r with the correction to r* = r + log(u / r) / r (Barndorff-Nielsen,
// Biometrika 73, 1986; u of such families by Pierce and Peters, J. R. Statist. Soc. B 54, 1992) is
// normal up to the third order. Wald's and the score test are so to the first alone: few hours have
// a sign, so the counts of its failures are skewed to the right, and these tests find too many
// signs without an effect. (For Cox's model: Pierce and Bellio, Bernoulli 21, 2015.)
double UpperTailOf(const Strata& strata, absl::Span<const std::size_t> which, std::size_t tested,
                   const Estimate& full);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_PARTIAL_LIKELIHOOD_H_
