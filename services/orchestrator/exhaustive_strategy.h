#ifndef SERVICES_ORCHESTRATOR_EXHAUSTIVE_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_EXHAUSTIVE_STRATEGY_H_

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// Everything first, then one decision: every passive check that decides a root cause runs on every
// node in one batch, and all root causes are judged in one call. The baseline "comprehensive
// verification diagnosis" (CVD) that `tiered` is compared with.
class ExhaustiveStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "exhaustive"; }
  Decision Search(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_EXHAUSTIVE_STRATEGY_H_
