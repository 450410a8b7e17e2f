#ifndef SERVICES_ORCHESTRATOR_TAXONOMY_SEARCH_H_
#define SERVICES_ORCHESTRATOR_TAXONOMY_SEARCH_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"
#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {

// The depth-first search of the taxonomy: what it wants next, by the state alone; empty when it has
// left the root. At each inner label its children are ranked and the irrelevant ones pruned, the
// checks that guide a child run before the search goes below it, and leaves of one parent are
// tested together; with Checks::kHaveRun nothing runs and the leaves are judged by what is
// known. Every unpruned branch is searched, since causes may be several. Pure.
Decision SearchTaxonomy(const State& state, Checks checks = Checks::kRun);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TAXONOMY_SEARCH_H_
