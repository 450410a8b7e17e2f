#include "services/orchestrator/projection.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "services/orchestrator/decider.h"

namespace galen::orchestrator {

namespace {

// Results that the effect still waits for.
int PendingChecks(const State& state, const Effect& effect) {
  std::int64_t pending = 0;
  for (const std::string& check : effect.checks) {
    const auto done = state.done.find(check);
    const auto nodes = static_cast<std::int64_t>(state.nodes.size());
    pending += std::max<std::int64_t>(0, nodes - (done == state.done.end() ? 0 : done->second));
  }
  return static_cast<int>(std::min<std::int64_t>(pending, std::numeric_limits<int>::max()));
}

}  // namespace

v1::Diagnosis ToListedDiagnosis(const State& state) {
  v1::Diagnosis diagnosis;
  diagnosis.set_name(state.name);
  diagnosis.set_state(state.lifecycle);
  *diagnosis.mutable_create_time() = state.create_time;
  *diagnosis.mutable_update_time() = state.update_time;
  *diagnosis.mutable_incident() = state.incident;
  for (v1::LogSource& log : *diagnosis.mutable_incident()->mutable_logs()) log.clear_content();
  diagnosis.set_strategy(state.strategy);
  if (state.round.summarized || state.round.number > 1) {
    *diagnosis.mutable_summary() = *state.summary;
  }
  std::set<std::string> tested;
  for (const Effect& effect : Decide(state).effects) {
    diagnosis.add_steps(effect.id);
    if (effect.kind == Effect::Kind::kChecks) {
      diagnosis.set_pending_checks(diagnosis.pending_checks() + PendingChecks(state, effect));
    }
    tested.insert(effect.labels.begin(), effect.labels.end());
  }
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    v1::Hypothesis& hypothesis = *diagnosis.add_hypotheses();
    hypothesis = tracked.hypothesis;
    if (tested.count(hypothesis.label()) > 0) hypothesis.set_status(v1::Hypothesis::EXPLORING);
  }
  if (state.report.ByteSizeLong() > 0) {
    *diagnosis.mutable_report() = state.report;
    diagnosis.mutable_report()->clear_evidence();
  }
  if (state.error.code() != 0) *diagnosis.mutable_error() = state.error;
  diagnosis.set_last_sequence(state.last_sequence);
  diagnosis.set_trace_id(state.trace_id);
  for (const v1::Exchange& exchange : state.dialogue) {
    diagnosis.add_feedback(exchange.text());
    *diagnosis.add_dialogue() = exchange;
  }
  if (state.confirmation.has_value()) *diagnosis.mutable_confirmation() = *state.confirmation;
  return diagnosis;
}

v1::Diagnosis ToDiagnosis(const State& state) {
  v1::Diagnosis diagnosis = ToListedDiagnosis(state);
  for (const auto& [id, result] : state.evidence) *diagnosis.add_check_results() = *result;
  if (diagnosis.has_report()) *diagnosis.mutable_report() = state.report;
  for (const v1::ReasoningStep& step : state.reasoning) *diagnosis.add_reasoning() = step;
  return diagnosis;
}

}  // namespace galen::orchestrator
