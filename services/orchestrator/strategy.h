#ifndef SERVICES_ORCHESTRATOR_STRATEGY_H_
#define SERVICES_ORCHESTRATOR_STRATEGY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// A way to search for causes. Stateless: what it wants follows from the diagnosis alone, so that
// a restart, on any replica, goes on where the log ends. Thread-safe.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual absl::string_view name() const = 0;
  // The next step of this round's search; empty at its end. Called for a diagnosis that runs and
  // whose incident is summarized. Pure.
  virtual Decision Search(const State& state) const = 0;
  // For a search that verifies nothing by design: the label that its report presumes when nothing
  // is confirmed; "" when none. Pure.
  virtual std::string Presumed(const State& state) const;
};

// Used if neither the request nor the orchestrator's options name one (Options::strategy).
inline constexpr absl::string_view kDefaultStrategy = "tiered";

// The strategy of that name, or null.
const Strategy* FindStrategy(absl::string_view name);
// All names, sorted.
std::vector<std::string> StrategyNames();

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_STRATEGY_H_
