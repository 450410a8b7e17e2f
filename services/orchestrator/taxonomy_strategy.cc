#include "services/orchestrator/taxonomy_strategy.h"

#include "services/orchestrator/taxonomy_search.h"

namespace galen::orchestrator {

Decision TaxonomyStrategy::Search(const State& state) const { return SearchTaxonomy(state); }

}  // namespace galen::orchestrator
