#include "services/orchestrator/strategy.h"

#include "services/orchestrator/tiered_strategy.h"

namespace galen::orchestrator {
namespace {

std::vector<const Strategy*> AllStrategies() {
  static const TieredStrategy tiered;
  return {&tiered};
}

}  // namespace

const Strategy* FindStrategy(absl::string_view name) {
  for (const Strategy* strategy : AllStrategies()) {
    if (strategy->name() == name) return strategy;
  }
  return nullptr;
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const Strategy* strategy : AllStrategies()) names.emplace_back(strategy->name());
  return names;
}

}  // namespace galen::orchestrator
