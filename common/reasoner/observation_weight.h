#ifndef COMMON_REASONER_OBSERVATION_WEIGHT_H_
#define COMMON_REASONER_OBSERVATION_WEIGHT_H_

#include "common/reasoner/belief.h"

namespace galen::reasoner {

// How often a cause shows an observation (`strength`), and the guess how often it is seen with
// other causes (`base`). Fitted by coordinate descent on the log loss over 225 incidents, each left
// out of its own base rates, and rounded: docs/decisions/019.
struct Kind {
  double strength;
  double base;
};
inline constexpr Kind kDefining = {0.9, 0.0002};
inline constexpr Kind kEvidence = {0.9, 0.01};
inline constexpr Kind kConditional = {0.5, 0.01};
inline constexpr Kind kContext = {0.4, 0.08};
inline constexpr Kind kDecisiveMessage = {0.4, 0.02};
inline constexpr Kind kStrongMessage = {0.5, 0.06};
inline constexpr Kind kWeakMessage = {0.1, 0.2};
// How often a listed effect occurs with its cause.
inline constexpr double kEffectStrength = 0.4;
// Weight of the guess above, in incidents, relative to the measured ones.
inline constexpr double kGuessedIncidents = 3;
// Minimum base of context, even if few incidents were measured.
inline constexpr double kLeastOfContext = 0.03;

// An observation with less weight is not mentioned.
inline constexpr double kWorthAWord = 0.7;

// Noisy-or with a leak: an observation occurs either by itself or because of the cause.
double WeightOf(double strength, double base);
// How often an observation is seen with other causes: the measured rate, combined with a guess that
// counts for `weight_of_guess` incidents.
double BaseOf(const Rate& rate, double guess, double weight_of_guess);
Kind KindOf(const Case& the_case, const Entry& entry);
// The weight of a true rule, and of a message; if a strength is given, as those of an effect.
double WeightOf(const Case& the_case, const Entry& entry, double strength_if_effect = 0);
double WeightOf(const Case& the_case, const galen::v1::Signal& signal,
                double strength_if_effect = 1);

bool LogsOnly(const Case& the_case, const knowledge::v1::Rule& rule);
// Whether the signal is a person's own wording, not a quoted message.
bool IsWords(const Case& the_case, const galen::v1::Signal& signal);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_OBSERVATION_WEIGHT_H_
