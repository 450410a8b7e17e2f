#ifndef SERVICES_CLI_EVAL_SUITE_DIAGRAM_H_
#define SERVICES_CLI_EVAL_SUITE_DIAGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/words/phrases.h"
#include "common/words/vocabulary.h"

namespace galen::eval {

// A cause that may be the answer, with what speaks for it so far in log-odds.
struct Proposition {
  std::string label;
  double belief = 0;
  bool signalled = false;  // a known message speaks for it
};

// One remark of a critique and what it changes.
struct Critique {
  std::string label;
  double change = 0;
  std::string why;
};

// The lists of knowledge/talk by which a clause rules something out. A value.
struct DenialWords {
  // INVALID_ARGUMENT: the vocabulary lacks one of them.
  static absl::StatusOr<DenialWords> From(const words::Vocabulary& vocabulary);

  words::Phrases denial;
  words::Phrases complaint;
};

// What a text says without what it rules out: "ECC counters are zero" is no sign of an ECC error.
// Clause by clause; what is left may be empty. Pure.
std::string WithoutDenials(absl::string_view text, const DenialWords& words);

// What stands against the propositions, seen together: one that another, likelier one lists among
// its effects; one that only names how failures look. Pure.
std::vector<Critique> CritiqueOf(const knowledge::Knowledge& knowledge,
                                 const std::vector<Proposition>& propositions);

// The first two propositions held against each other: which of them the words of the text speak
// for that only one of them has in its title, description and symptoms. Above 0: for `first`. Pure.
double Duel(const knowledge::Knowledge& knowledge, const std::string& first,
            const std::string& second, absl::string_view text);

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_SUITE_DIAGRAM_H_
