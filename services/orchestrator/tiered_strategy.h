#ifndef SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// The quick path first: the two most likely distinct causes of similar past incidents, each tested.
// When neither is confirmed, a few checks wherever they tell most (screening.h); when they confirm
// nothing either, the taxonomy depth-first (taxonomy_search.h). At the end the search criticises
// itself once, and tests the additions: this finds a second cause beside a confirmed one. Then a
// language model investigates, if there is one. When nothing is confirmed it explores beyond the
// taxonomy, for a person.
class TieredStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "tiered"; }
  Decision Search(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_
