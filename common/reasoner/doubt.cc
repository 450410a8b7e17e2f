#include "common/reasoner/doubt.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/reasoner/messages.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using knowledge::Truth;
using knowledge::v1::Label;
using knowledge::v1::Rule;

// One finding alone speaks for the leaf, however many devices have it. A condition that holds is a
// second one.
bool IsSingleWitness(const Assessment& assessment) {
  std::set<std::pair<absl::string_view, absl::string_view>> witnesses;
  for (const Supporting& each : assessment.supporting) {
    if (each.support != Support::kSpecific) continue;
    if (each.entry.rule->with_size() > 0) return false;
    witnesses.emplace(each.entry.rule->check(), each.entry.rule->finding());
  }
  return witnesses.size() == 1;
}

bool RestsOnAnEvent(const Assessment& assessment) {
  return std::any_of(assessment.supporting.begin(), assessment.supporting.end(),
                     [](const Supporting& each) {
                       return each.support == Support::kSpecific && !each.entry.findings.empty() &&
                              each.entry.findings.front()->has_event_value();
                     });
}

// The check was asked, gave no answer, and could have given one. What has to be done on the machine
// itself is never in a bundle, so that its silence says nothing.
bool IsSilent(const Case& the_case, const Entry& entry) {
  if (entry.result == nullptr || Ran(*entry.result)) return false;
  if (!IsAskedByItself(the_case.knowledge, entry.rule->check())) return false;
  const auto& reads = the_case.knowledge.FindCheck(entry.rule->check())->reads();
  return reads.empty() || !std::all_of(reads.begin(), reads.end(), [](const std::string& read) {
           return absl::StartsWith(read, "native:");
         });
}

bool IsRefuted(const Case& the_case, const Label& leaf, absl::string_view node) {
  return std::any_of(leaf.refute().begin(), leaf.refute().end(), [&](const Rule& rule) {
    return EvaluateRefute(the_case.knowledge, rule, the_case.evidence, node).truth == Truth::kTrue;
  });
}

// How far the checks of another leaf have told whether it is there.
struct Told {
  bool known = false;   // some rule is true or false
  bool silent = false;  // some check was asked in vain
  bool open = false;    // some check that a diagnosis asks by itself was not asked, or in vain
  bool unasked = false;
};

Told HowFarTold(const Case& the_case, const Label& leaf, absl::string_view node) {
  Told told;
  for (const Rule& rule : leaf.confirm()) {
    const Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth != Truth::kUnknown) {
      told.known = true;
      continue;
    }
    if (!IsAskedByItself(the_case.knowledge, rule.check())) continue;
    told.open = true;
    told.silent = told.silent || IsSilent(the_case, entry);
    told.unasked = told.unasked || entry.result == nullptr;
  }
  return told;
}

bool Contains(const google::protobuf::RepeatedPtrField<std::string>& labels, const Label& leaf) {
  return std::find(labels.begin(), labels.end(), leaf.label()) != labels.end();
}

// Another cause that would show the same, with a message of its own in a log or as what lies
// behind, of which the checks that ought to have told gave no answer.
std::string AnotherCause(const Case& the_case, const Label& leaf, absl::string_view node,
                         bool said) {
  for (const Label* other : the_case.index.leaves()) {
    const bool causes = ListsEffect(*other, leaf.label());
    const bool alike =
        Contains(other->confused_with(), leaf) || Contains(leaf.confused_with(), *other);
    if (other == &leaf || other->residual() || !(causes || alike)) continue;
    const galen::v1::Signal* message = StrongMessage(the_case.evidence, *other);
    if (message == nullptr && (!causes || said)) continue;
    const Told told = HowFarTold(the_case, *other, node);
    // With a message it is to be asked first; without one only silence makes it suspicious.
    const bool untold =
        message != nullptr ? told.open : !told.known && told.silent && !told.unasked;
    if (!untold || IsRefuted(the_case, *other, node)) continue;
    return absl::StrCat("whether ", other->label(), causes ? ", which would cause it," : "",
                        " is there could not be told",
                        message == nullptr ? "" : absl::StrCat(", and ", Describe(*message)));
  }
  return "";
}

// A log tells of the past, an all-clear of now.
std::string ThePast(const Case& the_case, const Assessment& assessment) {
  if (assessment.opposing.empty() || !RestsOnAnEvent(assessment)) return "";
  return absl::StrCat("a logged event alone speaks for it, and what is seen now does not: ",
                      Describe(the_case.knowledge, assessment.opposing.front()));
}

// What could have spoken against it was asked and gave no answer.
std::string Silence(const Case& the_case, const Label& leaf, const Assessment& assessment) {
  for (const Entry& entry : assessment.unknown) {
    const bool refutes = std::any_of(leaf.refute().begin(), leaf.refute().end(),
                                     [&](const Rule& rule) { return &rule == entry.rule; });
    if (refutes && IsSilent(the_case, entry)) {
      return absl::StrCat(
          "one finding alone speaks for it, and what could speak against it gave no answer: ",
          Missing(entry, the_case.evidence, assessment.node));
    }
  }
  return "";
}

// The one finding is the fault itself.
bool SeesTheFault(const Assessment& assessment) {
  return std::any_of(assessment.supporting.begin(), assessment.supporting.end(),
                     [](const Supporting& each) {
                       return each.support == Support::kSpecific && each.entry.rule->defining();
                     });
}

}  // namespace

std::string Doubt(const Case& the_case, const Label& leaf, const Assessment& assessment) {
  if (!IsSingleWitness(assessment)) return "";
  const double said = SignalLogOdds(the_case.evidence, leaf, assessment.node);
  if (said >= kStrongSignal) return "";
  std::string doubt = AnotherCause(the_case, leaf, assessment.node, said > 0);
  if (doubt.empty()) doubt = ThePast(the_case, assessment);
  if (doubt.empty() && said == 0) doubt = Silence(the_case, leaf, assessment);
  if (doubt.empty() && said == 0 && !SeesTheFault(assessment)) {
    doubt = "one finding alone speaks for it, and no word of the report or of a log does";
  }
  return doubt;
}

}  // namespace galen::reasoner
