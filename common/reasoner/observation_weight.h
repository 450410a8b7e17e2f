#ifndef COMMON_REASONER_OBSERVATION_WEIGHT_H_
#define COMMON_REASONER_OBSERVATION_WEIGHT_H_

#include "common/reasoner/belief.h"

namespace galen::reasoner {

// How often a cause shows an observation (`strength`), and how often it is seen beside other causes
// before anybody measured it (`base`). Fitted by coordinate descent on the log loss over 225
// incidents, each left out of its own base rates, and rounded: docs/decisions/019.
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
// An effect that a cause lists shows beside it this often.
inline constexpr double kEffectStrength = 0.4;
// So many incidents the guess above counts for, beside those that were measured.
inline constexpr double kGuessedIncidents = 3;
// Context is seen beside other causes at least this often, however few of them were measured.
inline constexpr double kLeastOfContext = 0.03;

// Noisy-or with a leak: what is seen has either come by itself or been brought about by the cause.
double WeightOf(double strength, double base);
// How often an observation is seen beside other causes: as measured, with a guess that counts for
// `weight_of_guess` incidents.
double BaseOf(const Rate& rate, double guess, double weight_of_guess);
Kind KindOf(const Case& the_case, const Entry& entry);
// The weight of a true rule, and of a message; as those of an effect where a strength is given.
double WeightOf(const Case& the_case, const Entry& entry, double strength_if_effect = 0);
double WeightOf(const Case& the_case, const galen::v1::Signal& signal,
                double strength_if_effect = 1);

bool LogsOnly(const Case& the_case, const knowledge::v1::Rule& rule);
// A person's own words, and no message that they quote.
bool IsWords(const Case& the_case, const galen::v1::Signal& signal);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_OBSERVATION_WEIGHT_H_
