#include "services/orchestrator/tiered_strategy.h"

#include "services/orchestrator/investigation.h"
#include "services/orchestrator/screening.h"
#include "services/orchestrator/search_steps.h"
#include "services/orchestrator/taxonomy_search.h"

namespace galen::orchestrator {

Decision TieredStrategy::Search(const State& state) const {
  const Round& round = state.round;
  if (Decision decision = RunOpeningChecks(state); !decision.empty()) return decision;
  if (Decision decision =
          Call(state, MakeEffect(state, Effect::Kind::kHistory, ""), round.history_proposed);
      !decision.empty()) {
    return decision;
  }
  if (Decision decision = TestHypotheses(state, kHistoryBatch, round.history); !decision.empty()) {
    return decision;
  }
  if (!round.history_confirmed) {
    if (Decision decision = SearchByScreening(state); !decision.empty()) return decision;
    if (!AnyConfirmed(state)) {
      // After a whole screening, the walk's remaining checks cannot confirm a cause, so it only
      // judges. Not after feedback: nodes may have come since the checks ran.
      const bool judges_only = IsScreenedOut(state) && round.number == 1;
      const Checks checks = judges_only ? Checks::kHaveRun : Checks::kRun;
      if (Decision decision = SearchTaxonomy(state, checks); !decision.empty()) return decision;
    }
  }
  if (Decision decision =
          Call(state, MakeEffect(state, Effect::Kind::kCritique, ""), round.critiqued);
      !decision.empty()) {
    return decision;
  }
  if (Decision decision = TestHypotheses(state, kCritiqueBatch, round.critique);
      !decision.empty()) {
    return decision;
  }
  if (Decision decision = Investigate(state); !decision.empty()) return decision;
  if (Decision decision = ConfirmAgain(state); !decision.empty()) return decision;
  if (AnyConfirmed(state)) return {};
  return Call(state, MakeEffect(state, Effect::Kind::kExplore, ""), round.explored);
}

}  // namespace galen::orchestrator
