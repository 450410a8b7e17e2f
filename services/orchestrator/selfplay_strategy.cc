#include "services/orchestrator/selfplay_strategy.h"

#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {

Decision SelfplayStrategy::Search(const State& state) const {
  const Round& round = state.round;
  if (Decision decision =
          Call(state, MakeEffect(state, Effect::Kind::kHistory, ""), round.history_proposed);
      !decision.empty()) {
    return decision;
  }
  if (Decision decision =
          Call(state, MakeEffect(state, Effect::Kind::kCritique, ""), round.critiqued);
      !decision.empty()) {
    return decision;
  }
  std::vector<std::string> answer = round.history;
  answer.insert(answer.end(), round.critique.begin(), round.critique.end());
  return TestHypotheses(state, kAttributionBatch, answer);
}

}  // namespace galen::orchestrator
