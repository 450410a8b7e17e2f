#ifndef SERVICES_ORCHESTRATOR_ONE_SHOT_STRATEGIES_H_
#define SERVICES_ORCHESTRATOR_ONE_SHOT_STRATEGIES_H_

#include <string>

#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {

// Searches that ask once and verify nothing. No check runs, so they never confirm a cause: the
// report names the first answer as presumed, with the signals and past incidents that it came from.

// The most likely cause of the most similar past incidents (as RCACopilot does).
class HistoryStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "history"; }
  Decision Search(const State& state) const override;
  std::string Presumed(const State& state) const override;
};

// The most likely cause by all that the texts say, chosen among all root causes.
class DirectStrategy final : public Strategy {
 public:
  absl::string_view name() const override { return "direct"; }
  Decision Search(const State& state) const override;
  std::string Presumed(const State& state) const override;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ONE_SHOT_STRATEGIES_H_
