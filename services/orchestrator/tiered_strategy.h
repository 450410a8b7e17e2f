#ifndef SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// The quick path first: the two most likely distinct causes of similar past incidents, each
// tested. When neither is confirmed, the taxonomy depth-first: at each inner label its children
// are ranked and the irrelevant ones pruned, the checks that guide a child run before the search
// goes below it, and leaves of one parent are tested together. Every unpruned branch is searched,
// since causes may be several. At the end the search criticises itself once, and tests what that
// adds: a cause that stands beside a confirmed one is found here.
class TieredStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "tiered"; }
  Decision Search(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TIERED_STRATEGY_H_
