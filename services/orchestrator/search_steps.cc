#include "services/orchestrator/search_steps.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/retry.h"

namespace galen::orchestrator {
namespace {

const CallRecord* FindCall(const State& state, absl::string_view id) {
  const auto it = state.round.calls.find(std::string(id));
  return it == state.round.calls.end() ? nullptr : &it->second;
}

bool HasAllResults(const State& state, const std::string& check) {
  const auto it = state.done.find(check);
  return it != state.done.end() && it->second >= static_cast<std::int64_t>(state.node_set.size());
}

v1::DiagnosisEvent ErrorResult(const std::string& check, const std::string& node,
                               const google::rpc::Status& error) {
  v1::DiagnosisEvent event;
  v1::CheckResult& result = *event.mutable_check_completed()->mutable_result();
  result.set_id(ResultId(check, node));
  result.set_check(check);
  result.set_node(node);
  result.set_status(v1::CheckResult::ERROR);
  result.set_message(absl::StrCat("the check could not be run: ", error.message()));
  return event;
}

v1::DiagnosisEvent InconclusiveVerdicts(absl::string_view batch,
                                        absl::Span<const std::string> labels,
                                        const google::rpc::Status& error) {
  v1::DiagnosisEvent event;
  event.mutable_verdicts_given()->set_batch(std::string(batch));
  for (const std::string& label : labels) {
    v1::Verdict& verdict = *event.mutable_verdicts_given()->add_verdicts();
    verdict.set_label(label);
    verdict.set_outcome(v1::Verdict::INCONCLUSIVE);
    verdict.add_reasons()->set_text(absl::StrCat("reflection gave no verdict: ", error.message()));
  }
  return event;
}

// Those of `labels` that still want a verdict, each once.
std::vector<std::string> Undecided(const State& state, absl::Span<const std::string> labels) {
  std::vector<std::string> undecided;
  std::set<absl::string_view> seen;
  for (const std::string& label : labels) {
    const TrackedHypothesis* tracked = FindHypothesis(state, label);
    if (tracked == nullptr || !seen.insert(label).second) continue;
    const v1::Hypothesis::Status status = tracked->hypothesis.status();
    if (status == v1::Hypothesis::CONFIRMED || status == v1::Hypothesis::REJECTED) continue;
    undecided.push_back(label);
  }
  return undecided;
}

}  // namespace

Effect MakeEffect(const State& state, Effect::Kind kind, absl::string_view what) {
  Effect effect;
  effect.kind = kind;
  effect.id = EffectId(kind, what, state.round.number);
  return effect;
}

bool CallFailedForGood(const State& state, absl::string_view id) {
  const CallRecord* call = FindCall(state, id);
  return call != nullptr && call->final;
}

Decision Call(const State& state, Effect effect, bool answered) {
  Decision decision;
  if (answered) return decision;
  if (const CallRecord* call = FindCall(state, effect.id); call != nullptr) {
    if (call->final) return decision;
    effect.not_before = call->failed_at + BackoffAfter(state.name, call->attempts, call->error);
  }
  decision.effects.push_back(std::move(effect));
  return decision;
}

Decision RunChecks(const State& state, absl::string_view what, absl::Span<const std::string> checks,
                   absl::Span<const std::string> for_labels) {
  Decision decision;
  if (state.nodes.empty()) return decision;
  Effect effect = MakeEffect(state, Effect::Kind::kChecks, what);
  std::set<absl::string_view> seen;
  for (const std::string& check : checks) {
    if (seen.insert(check).second && !HasAllResults(state, check)) effect.checks.push_back(check);
  }
  if (effect.checks.empty()) {
    if (state.batch_open) {
      decision.events.emplace_back().mutable_checks_finished()->set_batch(effect.id);
    }
    return decision;
  }
  if (CallFailedForGood(state, effect.id)) {
    const google::rpc::Status& error = FindCall(state, effect.id)->error;
    for (const std::string& check : effect.checks) {
      for (const std::string& node : state.nodes) {
        if (state.results.count(ResultId(check, node)) > 0) continue;
        decision.events.push_back(ErrorResult(check, node, error));
      }
    }
    decision.events.emplace_back().mutable_checks_finished()->set_batch(effect.id);
    return decision;
  }
  effect.labels.assign(for_labels.begin(), for_labels.end());
  return Call(state, std::move(effect), /*answered=*/false);
}

Decision RunOpeningChecks(const State& state) {
  if (state.opening_finished) return {};
  return RunChecks(state, kOpeningBatch, state.opening_checks, {});
}

Decision TestHypotheses(const State& state, absl::string_view what,
                        absl::Span<const std::string> labels, Checks how) {
  Effect judge = MakeEffect(state, Effect::Kind::kJudge, what);
  if (state.round.judged.count(judge.id) > 0) return {};
  judge.labels = Undecided(state, labels);
  if (judge.labels.empty()) return {};

  std::vector<std::string> checks;
  for (const std::string& label : judge.labels) {
    if (how == Checks::kHaveRun) break;
    const TrackedHypothesis* tracked = FindHypothesis(state, label);
    checks.insert(checks.end(), tracked->checks.begin(), tracked->checks.end());
  }
  Decision decision = RunChecks(state, what, checks, judge.labels);
  if (!decision.empty()) return decision;

  if (CallFailedForGood(state, judge.id)) {
    decision.events.push_back(
        InconclusiveVerdicts(judge.id, judge.labels, FindCall(state, judge.id)->error));
    return decision;
  }
  return Call(state, std::move(judge), /*answered=*/false);
}

Decision ConfirmAgain(const State& state) {
  Effect judge = MakeEffect(state, Effect::Kind::kJudge, kConfirmedBatch);
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    if (tracked.hypothesis.status() == v1::Hypothesis::CONFIRMED &&
        tracked.judged_by < state.results_seen) {
      judge.labels.push_back(tracked.hypothesis.label());
    }
  }
  if (judge.labels.empty()) return {};
  return Call(state, judge, /*answered=*/state.round.judged.count(judge.id) > 0);
}

}  // namespace galen::orchestrator
