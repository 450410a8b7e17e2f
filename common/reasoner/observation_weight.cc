#include "common/reasoner/observation_weight.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace galen::reasoner {
namespace {

using galen::v1::Finding;
using galen::v1::Signal;
using knowledge::v1::Rule;

constexpr double kGuessedMessages = 16;
// A state that was never seen counts as seen in this many incidents: the field is more varied than
// the measured incidents.
constexpr double kLeastSeen = 0.05;
// Weight, in incidents, of the guess for one of the two forms of an observation: half the rate of
// both.
constexpr double kGuessedFormIncidents = 100;
// A consequence on a survivor, a wrapper or a context message occurs with many causes.
constexpr double kSecondary = 0.4;
constexpr double kWrapper = 0.3;
// A person may guess: factor for the weight of words.
constexpr double kOfWords = 0.4;
constexpr double kOfQuoted = 0.8;
// The factor if the words report a trial and its outcome, which is not a guess.
constexpr double kOfTried = 0.6;

// Whether the message of a program is quoted in a person's text, for example in a title. A label's
// own patterns are so general that a person's wording fits them as well.
bool IsQuoted(const Case& the_case, const Signal& signal) {
  if (signal.where() != galen::v1::DESCRIPTION) return false;
  const knowledge::v1::SignalPattern* pattern = the_case.knowledge.FindSignal(signal.signal());
  if (pattern == nullptr) return false;
  const bool of_a_label =
      pattern->labels_size() > 0 &&
      absl::StartsWith(pattern->id(), absl::AsciiStrToLower(pattern->labels(0)));
  return !of_a_label && std::find(pattern->where().begin(), pattern->where().end(),
                                  galen::v1::DESCRIPTION) == pattern->where().end();
}

bool IsTried(const Case& the_case, const Signal& signal) {
  const knowledge::v1::SignalPattern* pattern = the_case.knowledge.FindSignal(signal.signal());
  return pattern != nullptr && pattern->outcome() != knowledge::v1::OUTCOME_UNSPECIFIED;
}

}  // namespace

double WeightOf(double strength, double base) {
  return std::log((1 - (1 - base) * (1 - strength)) / base);
}

double BaseOf(const Rate& rate, double guess, double weight_of_guess) {
  return (rate.seen + weight_of_guess * guess) / (rate.asked + weight_of_guess);
}

Kind KindOf(const Case& the_case, const Entry& entry) {
  if (entry.rule->defining()) return kDefining;
  if (entry.rule->context()) return kContext;
  if (entry.rule->with_size() > 0) return kConditional;
  const bool evidence =
      std::any_of(entry.findings.begin(), entry.findings.end(), [&](const Finding* finding) {
        return GradeOf(the_case.knowledge, *finding, *entry.result) == Grade::kEvidence;
      });
  return evidence ? kEvidence : kContext;
}

bool LogsOnly(const Case& the_case, const Rule& rule) {
  const knowledge::v1::Check* check = the_case.knowledge.FindCheck(rule.check());
  return check != nullptr && ReadsOnlyLogs(*check);
}

double WeightOf(const Case& the_case, const Entry& entry, double strength_if_effect) {
  const Kind kind = KindOf(the_case, entry);
  // One of two forms: on all devices that were read, or on some of them.
  const bool on_some = IsOnSome(the_case.evidence, entry);
  const Rate form = the_case.rates.Of(*entry.rule, on_some);
  const Rate both = {form.seen + the_case.rates.Of(*entry.rule, !on_some).seen, form.asked};
  const double of_both = BaseOf(both, kind.base, kGuessedIncidents);
  double base = form.asked == 0 ? of_both : BaseOf(form, of_both / 2, kGuessedFormIncidents);
  if (form.asked > 0 && !entry.rule->defining()) base = std::max(base, kLeastSeen / form.asked);
  if (entry.rule->context()) base = std::max(base, kLeastOfContext);
  return WeightOf(strength_if_effect > 0 ? strength_if_effect : kind.strength, base);
}

bool IsWords(const Case& the_case, const Signal& signal) {
  return signal.where() == galen::v1::DESCRIPTION && !IsQuoted(the_case, signal);
}

double WeightOf(const Case& the_case, const Signal& signal, double strength_if_effect) {
  Kind kind = kWeakMessage;
  if (signal.strength() == galen::v1::DECISIVE) kind = kDecisiveMessage;
  if (signal.strength() == galen::v1::STRONG) kind = kStrongMessage;
  const bool words = signal.where() == galen::v1::DESCRIPTION;
  double strength = std::min(kind.strength, strength_if_effect) / std::max(signal.labels_size(), 1);
  if (signal.role() == galen::v1::SECONDARY) strength *= kSecondary;
  if (signal.role() == galen::v1::WRAPPER || signal.role() == galen::v1::CONTEXT) {
    strength *= kWrapper;
  }
  const double base =
      BaseOf(the_case.rates.OfMessage(signal.signal(), words), kind.base, kGuessedMessages);
  if (!words) return WeightOf(strength, base);
  const double share = IsQuoted(the_case, signal)  ? kOfQuoted
                       : IsTried(the_case, signal) ? kOfTried
                                                   : kOfWords;
  return WeightOf(strength, base) * share;
}

}  // namespace galen::reasoner
