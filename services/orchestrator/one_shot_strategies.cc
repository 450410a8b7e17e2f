#include "services/orchestrator/one_shot_strategies.h"

#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {
namespace {

std::string First(const std::vector<std::string>& labels) {
  return labels.empty() ? "" : labels.front();
}

}  // namespace

Decision HistoryStrategy::Search(const State& state) const {
  return Call(state, MakeEffect(state, Effect::Kind::kHistory, ""), state.round.history_proposed);
}

std::string HistoryStrategy::Presumed(const State& state) const {
  return First(state.round.history);
}

Decision DirectStrategy::Search(const State& state) const {
  return Call(state, MakeEffect(state, Effect::Kind::kAtOnce, ""), state.round.named_at_once);
}

std::string DirectStrategy::Presumed(const State& state) const {
  return First(state.round.at_once);
}

}  // namespace galen::orchestrator
