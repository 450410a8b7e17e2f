#ifndef SERVICES_ORCHESTRATOR_TAXONOMY_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_TAXONOMY_STRATEGY_H_

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// The taxonomy depth-first and nothing else: no history, no critique, no exploration. The baseline
// "taxonomy-guided diagnosis" (TGD) that `tiered` is compared with.
class TaxonomyStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "taxonomy"; }
  Decision Search(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TAXONOMY_STRATEGY_H_
