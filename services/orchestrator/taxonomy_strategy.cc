#include "services/orchestrator/taxonomy_strategy.h"

#include "services/orchestrator/search_steps.h"
#include "services/orchestrator/taxonomy_search.h"

namespace galen::orchestrator {

Decision TaxonomyStrategy::Search(const State& state) const {
  if (Decision decision = RunOpeningChecks(state); !decision.empty()) return decision;
  return SearchTaxonomy(state);
}

}  // namespace galen::orchestrator
