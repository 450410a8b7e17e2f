#ifndef COMMON_CURATION_VERIFICATION_H_
#define COMMON_CURATION_VERIFICATION_H_

#include <set>
#include <string>
#include <vector>

#include "common/curation/tickets.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::curation {

// Finds in past tickets the commands and observations of people, and the checks that do the same.
// Immutable and thread-safe.
class Verifier {
 public:
  // The known programs are those that the checks read.
  explicit Verifier(const knowledge::v1::KnowledgeBase& base);

  // The ticket's own steps, and the sentences of its resolution and discussion that name a program,
  // quote a command (`like this`) or begin as one ("$ "): at most 12, each once, in their order.
  std::vector<std::string> StepsOf(const Ticket& ticket) const;

  // Rules that would confirm the observations of the steps: for each passive check that reads what
  // a step names, its findings whose value alone means a fault, if the step also names the finding.
  // A person has to review them. At most 6.
  std::vector<knowledge::v1::Rule> RulesFor(const std::vector<std::string>& steps) const;

 private:
  struct Reading {
    const knowledge::v1::Check* check;
    std::set<std::string> words;  // of one command or path that it reads
  };

  bool NamesProgram(const std::string& sentence) const;

  std::set<std::string> programs_;
  std::vector<Reading> readings_;
  std::vector<knowledge::v1::Check> checks_;
};

}  // namespace galen::curation

#endif  // COMMON_CURATION_VERIFICATION_H_
