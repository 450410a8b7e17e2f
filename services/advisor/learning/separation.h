#ifndef SERVICES_ADVISOR_LEARNING_SEPARATION_H_
#define SERVICES_ADVISOR_LEARNING_SEPARATION_H_

#include <cstddef>

#include "absl/types/span.h"
#include "services/advisor/learning/partial_likelihood.h"

// Estimates signs whose effect has no finite maximum of the likelihood ("separation": Albert and
// Anderson, Biometrika 71, 1984; for Cox's model Heinze and Schemper, Biometrics 57, 2001). A sign
// that stood highest before each failure is the best possible one, and must count; and one of them
// must not keep the others from being estimated.
namespace galen::advisor {

// Position of the failures relative to the other levels of a sign in their strata, stratum by
// stratum.
enum class Separation {
  kNone,       // no failure could be compared with another level: nothing can be said
  kBetween,    // an effect can be estimated
  kAlwaysTop,  // each comparable failure was at the highest level
  kNeverTop,   // at the lowest: it has no effect
};
Separation SeparationOf(const Strata& strata, std::size_t sign);

// The effect of a sign that is kAlwaysTop, the others having `effects`: the one that makes the
// observations as likely as not (median unbiased: Hirji, Tsiatis and Mehta, American Statistician
// 43, 1989), never below 0. Its error is the distance to the effect with a likelihood of 0.025, in
// deviations of the normal distribution.
struct TopEffect {
  double effect = 0;
  double error = 0;
};
TopEffect TopEffectOf(const Strata& strata, absl::Span<const std::size_t> which,
                      const Effects& effects, std::size_t sign);

// The probability that a sign without an effect stands highest before each failure. Exact, given
// hours and failures of the strata.
double TopTailOf(const Strata& strata, absl::Span<const std::size_t> which, const Effects& effects,
                 std::size_t sign);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_SEPARATION_H_
