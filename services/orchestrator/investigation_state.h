#ifndef SERVICES_ORCHESTRATOR_INVESTIGATION_STATE_H_
#define SERVICES_ORCHESTRATOR_INVESTIGATION_STATE_H_

#include <set>
#include <string>
#include <vector>

#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"
#include "galen/v1/investigation.pb.h"

namespace galen::orchestrator {

// The questions and answers of a language model in one round.
struct Investigation {
  bool open = false;  // reflection has a model
  int asked = 0;      // how often, also in vain
  std::vector<v1::InvestigationTurn> turns;
  std::set<int> unanswered;         // calls of the last turn
  std::set<std::string> known;      // ids of the results that were there at the first turn
  std::vector<std::string> labels;  // that the verdicts of the last turn confirm
  std::vector<v1::Suggestion> suggestions;
  bool ended = false;  // the model is asked no more
};

// Applies an event. The caller applies its effect on hypotheses and notes. Changes only
// `investigation`.
void Apply(Investigation& investigation, const v1::Investigated& investigated);
void Apply(Investigation& investigation, const v1::Looked& looked);

// The verdicts of the last turn in which the model concluded; null when there is none.
const v1::InvestigationTurn* Conclusion(const Investigation& investigation);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_INVESTIGATION_STATE_H_
