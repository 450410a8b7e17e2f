#include "services/orchestrator/exhaustive_strategy.h"

#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {

Decision ExhaustiveStrategy::Search(const State& state) const {
  const Round& round = state.round;
  if (Decision decision =
          Call(state, MakeEffect(state, Effect::Kind::kListCauses, ""), round.causes_listed);
      !decision.empty()) {
    return decision;
  }
  return TestHypotheses(state, kAllBatch, round.causes);
}

}  // namespace galen::orchestrator
