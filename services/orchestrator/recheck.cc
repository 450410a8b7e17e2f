#include "services/orchestrator/recheck.h"

#include <set>
#include <string>
#include <vector>

#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {
namespace {

Decision ReadWhatWasTold(const State& state) {
  if (state.round.told_read) return {};
  const Effect effect = MakeEffect(state, Effect::Kind::kSupplied, "");
  if (CallFailedForGood(state, effect.id)) {
    // The failure is a note of the report.
    Decision decision;
    decision.events.emplace_back().mutable_checks_finished()->set_batch(effect.id);
    return decision;
  }
  return Call(state, effect, /*answered=*/false);
}

Decision RunOutdatedChecks(const State& state) {
  std::set<std::string> checks;
  for (const auto& [id, result] : state.earlier) {
    if (state.active_checks.count(result->check()) == 0) checks.insert(result->check());
  }
  return RunChecks(state, kRecheckBatch, std::vector<std::string>(checks.begin(), checks.end()),
                   {});
}

}  // namespace

Decision Recheck(const State& state) {
  if (state.round.number == 1) return {};
  if (Decision decision = ReadWhatWasTold(state); !decision.empty()) return decision;
  if (Decision decision = RunOutdatedChecks(state); !decision.empty()) return decision;
  if (Decision decision = RunAllowedTests(state); !decision.empty()) return decision;
  std::vector<std::string> judged;
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    if (tracked.before.has_value()) judged.push_back(tracked.hypothesis.label());
  }
  return TestHypotheses(state, kRecheckBatch, judged, Checks::kHaveRun);
}

}  // namespace galen::orchestrator
