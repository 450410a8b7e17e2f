#include "services/orchestrator/strategy.h"

#include "services/orchestrator/exhaustive_strategy.h"
#include "services/orchestrator/one_shot_strategies.h"
#include "services/orchestrator/selfplay_strategy.h"
#include "services/orchestrator/taxonomy_strategy.h"
#include "services/orchestrator/tiered_strategy.h"

namespace galen::orchestrator {
namespace {

// Sorted by name.
std::vector<const Strategy*> AllStrategies() {
  static const DirectStrategy direct;
  static const ExhaustiveStrategy exhaustive;
  static const HistoryStrategy history;
  static const SelfplayStrategy selfplay;
  static const TaxonomyStrategy taxonomy;
  static const TieredStrategy tiered;
  return {&direct, &exhaustive, &history, &selfplay, &taxonomy, &tiered};
}

}  // namespace

std::string Strategy::Presumed(const State&) const { return ""; }

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
