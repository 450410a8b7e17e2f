#ifndef SERVICES_ORCHESTRATOR_SELFPLAY_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_SELFPLAY_STRATEGY_H_

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// Three rounds of questions and answers: from what the texts say, similar incidents give a first
// answer; the answer is criticised, which keeps, corrects or adds hypotheses and with them picks
// the checks; the checks run, and their results attribute the fault.
class SelfplayStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "selfplay"; }
  Decision Search(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SELFPLAY_STRATEGY_H_
