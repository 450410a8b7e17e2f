#include "services/orchestrator/investigation_state.h"

namespace galen::orchestrator {

void Apply(Investigation& investigation, const v1::Investigated& investigated) {
  ++investigation.asked;
  if (!investigated.ended().empty()) investigation.ended = true;
  if (!investigated.concluded() && investigated.calls().empty()) return;  // asked in vain
  v1::InvestigationTurn& turn = investigation.turns.emplace_back();
  *turn.mutable_calls() = investigated.calls();
  investigation.unanswered.clear();
  for (int i = 0; i < turn.calls_size(); ++i) {
    turn.add_results();
    // Checks answer by their results, and what was refused by its reason.
    if (turn.calls(i).refused().empty() && !turn.calls(i).has_run_checks()) {
      investigation.unanswered.insert(i);
    }
  }
  if (!turn.calls().empty()) return;
  *turn.mutable_verdicts() = investigated.verdicts();
  turn.set_explanation(investigated.explanation());
  investigation.labels.clear();
  for (const v1::ProposedHypothesis& proposed : investigated.hypotheses()) {
    investigation.labels.push_back(proposed.hypothesis().label());
  }
  investigation.suggestions.assign(investigated.suggestions().begin(),
                                   investigated.suggestions().end());
}

void Apply(Investigation& investigation, const v1::Looked& looked) {
  if (looked.turn() != static_cast<int>(investigation.turns.size())) return;
  v1::InvestigationTurn& turn = investigation.turns.back();
  for (const v1::Looked::Answer& answer : looked.answers()) {
    if (investigation.unanswered.erase(answer.call()) == 0) continue;
    *turn.mutable_results(answer.call()) = answer.result();
  }
}

const v1::InvestigationTurn* Conclusion(const Investigation& investigation) {
  for (auto turn = investigation.turns.rbegin(); turn != investigation.turns.rend(); ++turn) {
    if (turn->calls().empty()) return &*turn;
  }
  return nullptr;
}

}  // namespace galen::orchestrator
