#include "services/orchestrator/diagnosis_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/llm/usage/usage.h"
#include "services/orchestrator/effect.h"
#include "services/orchestrator/receive_answer.h"

namespace galen::orchestrator {
namespace {

// Adds the hypothesis, or reopens it if it is pruned. A given verdict stays.
void Propose(State& state, v1::Hypothesis hypothesis, std::vector<std::string> checks) {
  const auto [it, is_new] = state.index_of.emplace(hypothesis.label(), state.hypotheses.size());
  if (is_new) {
    state.hypotheses.push_back({std::move(hypothesis), std::move(checks)});
    return;
  }
  TrackedHypothesis& known = state.hypotheses[it->second];
  if (!checks.empty()) known.checks = std::move(checks);
  if (known.hypothesis.has_verdict()) return;
  // A pruned hypothesis that is proposed again gets the new origin.
  if (known.hypothesis.status() == v1::Hypothesis::PRUNED &&
      hypothesis.status() != v1::Hypothesis::PRUNED) {
    known.hypothesis = std::move(hypothesis);
  }
}

void Propose(State& state, const v1::ProposedHypothesis& proposed, v1::Hypothesis::Origin origin) {
  v1::Hypothesis hypothesis = proposed.hypothesis();
  hypothesis.set_origin(origin);
  hypothesis.set_status(v1::Hypothesis::PENDING);
  hypothesis.clear_verdict();
  Propose(state, std::move(hypothesis), {proposed.checks().begin(), proposed.checks().end()});
}

v1::Hypothesis::Status StatusOf(v1::Verdict::Outcome outcome) {
  switch (outcome) {
    case v1::Verdict::CONFIRMED:
      return v1::Hypothesis::CONFIRMED;
    case v1::Verdict::REJECTED:
      return v1::Hypothesis::REJECTED;
    default:
      return v1::Hypothesis::INCONCLUSIVE;
  }
}

void ApplyCreated(State& state, const v1::Created& created) {
  state.name = created.name();
  state.incident = created.incident();
  state.strategy = created.strategy();
  state.request_id = created.request_id();
  state.lifecycle = v1::Diagnosis::PENDING;
}

void ApplySummarized(State& state, const v1::Summarized& summarized) {
  state.summary = std::make_shared<v1::Summary>(summarized.summary());
  state.nodes.assign(summarized.nodes().begin(), summarized.nodes().end());
  state.node_set = {state.nodes.begin(), state.nodes.end()};
  state.opening_checks.assign(summarized.opening_checks().begin(),
                              summarized.opening_checks().end());
  state.done.clear();
  for (const auto& [id, result] : state.results) {
    if (state.node_set.count(result->node()) > 0) ++state.done[result->check()];
  }
  // In a later round they have run already, unless a node has come.
  state.opening_finished = std::all_of(
      state.opening_checks.begin(), state.opening_checks.end(), [&](const std::string& check) {
        const auto done = state.done.find(check);
        return done != state.done.end() &&
               done->second >= static_cast<std::int64_t>(state.node_set.size());
      });
  state.round.summarized = true;
  if (state.nodes.empty()) {
    state.round.notes.push_back(
        "no node is known, so no check could run: name the nodes or a bundle");
  }
}

void ApplyProposed(State& state, const v1::HypothesesProposed& event) {
  Round& round = state.round;
  v1::Hypothesis::Origin origin = v1::Hypothesis::HISTORY;
  std::vector<std::string>* labels = &round.history;
  if (event.origin() == v1::Hypothesis::DIRECT) {
    origin = v1::Hypothesis::DIRECT;
    labels = &round.at_once;
    round.named_at_once = true;
  } else if (event.origin() == v1::Hypothesis::TAXONOMY) {
    origin = v1::Hypothesis::TAXONOMY;
    labels = &round.causes;
    round.causes_listed = true;
  } else {
    round.history_proposed = true;
  }
  for (const v1::ProposedHypothesis& proposed : event.hypotheses()) {
    Propose(state, proposed, origin);
    labels->push_back(proposed.hypothesis().label());
  }
}

void ApplyScreened(State& state, const v1::Screened& screened) {
  ++state.round.screens;
  state.round.screened = screened;
  for (const v1::ProposedHypothesis& proposed : screened.hypotheses()) {
    Propose(state, proposed, v1::Hypothesis::SCREENING);
  }
}

void ApplyCheckCompleted(State& state, v1::CheckResult result) {
  const bool told = !result.told().empty();
  // For a capture, the time of the measurement is unknown here.
  if (told || IsLive(state)) *result.mutable_observe_time() = state.update_time;
  State::Results& results = told ? state.supplied_results : state.results;
  const auto [it, is_new] = results.try_emplace(result.id());
  // The first result of a pair stands: a repeat, after a retry, is not counted again. A later
  // answer says more than one before.
  if (!is_new && (!told || it->second->told() == result.told())) return;
  it->second = std::make_shared<v1::CheckResult>(std::move(result));
  const v1::CheckResult& taken = *it->second;
  ++state.results_seen;
  state.batch_open = true;
  if (!told && state.node_set.count(taken.node()) > 0) ++state.done[taken.check()];
  PutTogether(state, taken.id());
}

void ApplyRanked(State& state, const v1::ChildrenRanked& ranked) {
  const auto own = state.belief.find(ranked.label());
  const double belief = own == state.belief.end() ? 1.0 : own->second;
  for (const v1::RankedChild& child : ranked.children()) {
    if (!child.leaf()) {
      state.belief[child.label()] = belief * child.probability();
      continue;
    }
    v1::Hypothesis hypothesis;
    hypothesis.set_label(child.label());
    hypothesis.set_title(child.title());
    hypothesis.set_origin(v1::Hypothesis::TAXONOMY);
    hypothesis.set_status(child.pruned() ? v1::Hypothesis::PRUNED : v1::Hypothesis::PENDING);
    hypothesis.set_prior(belief * child.probability());
    hypothesis.set_reason(child.reason());
    Propose(state, std::move(hypothesis), {child.checks().begin(), child.checks().end()});
  }
  state.round.rankings[ranked.label()] = ranked;
  state.round.known_causes[ranked.label()] = state.round.confirmed;
}

// A cause belongs to what found it, whatever named it first: the step that had it judged, or the
// answer of the customer before this round.
void BookConfirmed(const State& state, const std::string& batch, TrackedHypothesis& tracked) {
  const auto was_confirmed = [](const v1::Verdict& verdict) {
    return verdict.outcome() == v1::Verdict::CONFIRMED;
  };
  v1::Hypothesis& hypothesis = tracked.hypothesis;
  if (hypothesis.has_verdict() && was_confirmed(hypothesis.verdict())) return;
  if (tracked.before.has_value() && was_confirmed(*tracked.before)) return;
  const int round = state.round.number;
  const auto is = [&](absl::string_view what) {
    return batch == EffectId(Effect::Kind::kJudge, what, round);
  };
  if (round > 1) {
    hypothesis.set_origin(v1::Hypothesis::EXPLORATION);
  } else if (is(kHistoryBatch)) {
    hypothesis.set_origin(v1::Hypothesis::HISTORY);
  } else if (is(kCritiqueBatch)) {
    hypothesis.set_origin(v1::Hypothesis::CRITIQUE);
  } else if (state.round.screens > 0 && is(ScreenBatch(state.round.screens))) {
    hypothesis.set_origin(v1::Hypothesis::SCREENING);
  }
}

void ApplyVerdicts(State& state, const v1::VerdictsGiven& given) {
  for (const v1::Verdict& verdict : given.verdicts()) {
    const auto it = state.index_of.find(verdict.label());
    if (it == state.index_of.end()) continue;
    TrackedHypothesis& tracked = state.hypotheses[it->second];
    if (verdict.outcome() == v1::Verdict::CONFIRMED) BookConfirmed(state, given.batch(), tracked);
    tracked.judged_by = state.results_seen;
    v1::Hypothesis& hypothesis = tracked.hypothesis;
    *hypothesis.mutable_verdict() = verdict;
    hypothesis.set_status(StatusOf(verdict.outcome()));
    if (verdict.outcome() == v1::Verdict::CONFIRMED) ++state.round.confirmed;
    if (verdict.outcome() == v1::Verdict::CONFIRMED &&
        given.batch() == EffectId(Effect::Kind::kJudge, kHistoryBatch, state.round.number)) {
      state.round.history_confirmed = true;
    }
  }
  state.round.judged.insert(given.batch());
}

void ApplyBranchLeft(State& state, const v1::BranchLeft& left) {
  state.round.left.insert(left.label());
  state.round.rankings.erase(left.label());
  state.round.known_causes.erase(left.label());
  if (left.early_stop()) {
    state.round.notes.push_back(absl::StrCat("the search below ",
                                             left.label().empty() ? "the root" : left.label(),
                                             " stopped early: ", left.reason()));
  }
}

void ApplyCritiqued(State& state, const v1::Critiqued& critiqued) {
  state.round.critiqued = true;
  for (const v1::ProposedHypothesis& added : critiqued.add()) {
    Propose(state, added, v1::Hypothesis::CRITIQUE);
    state.round.critique.push_back(added.hypothesis().label());
  }
  state.round.notes.insert(state.round.notes.end(), critiqued.remarks().begin(),
                           critiqued.remarks().end());
  state.round.investigation.open = critiqued.investigates();
}

void ApplyInvestigated(State& state, const v1::Investigated& investigated) {
  Investigation& investigation = state.round.investigation;
  if (investigation.turns.empty()) {
    for (const auto& [id, result] : state.results) investigation.known.insert(id);
  }
  Apply(investigation, investigated);
  for (const v1::ProposedHypothesis& proposed : investigated.hypotheses()) {
    Propose(state, proposed, v1::Hypothesis::MODEL);
  }
  if (!investigated.ended().empty()) {
    state.round.notes.push_back(absl::StrCat(
        "The investigation by the model ended before it had concluded: ", investigated.ended(),
        "; the built-in reasoner's answer stands"));
  }
}

void ApplyConcluded(State& state, const v1::Concluded& concluded) {
  state.report = concluded.report();
  state.reasoning.assign(concluded.reasoning().begin(), concluded.reasoning().end());
  state.round.concluded = true;
  if (!state.dialogue.empty()) *state.dialogue.back().mutable_changes() = state.report.changes();
  if (state.lifecycle == v1::Diagnosis::ESCALATED) return;
  state.lifecycle = concluded.report().outcome() == v1::Report::CAUSE_CONFIRMED
                        ? v1::Diagnosis::SUCCEEDED
                        : v1::Diagnosis::AWAITING_FEEDBACK;
}

void ApplyCallFailed(State& state, const v1::CallFailed& failed, absl::Time at) {
  CallRecord& call = state.round.calls[failed.call()];
  call.attempts = failed.attempt();
  call.final = failed.final();
  call.error = failed.error();
  call.failed_at = at;
  if (failed.final()) {
    state.round.notes.push_back(absl::StrCat(
        "the call ", failed.call(), " failed after ", failed.attempt(),
        failed.attempt() == 1 ? " attempt: " : " attempts: ", failed.error().message()));
  }
}

}  // namespace

void Apply(State& state, const v1::DiagnosisEvent& event) {
  state.last_sequence = event.sequence();
  state.update_time = event.event_time();
  if (event.has_created()) {
    state.create_time = event.event_time();
    state.trace_id = event.trace_id();
    state.asker = event.created().asker();
    ApplyCreated(state, event.created());
    return;
  }
  if (state.lifecycle == v1::Diagnosis::PENDING) state.lifecycle = v1::Diagnosis::RUNNING;
  for (const v1::Reasoned& reasoned : event.reasoned()) {
    usage::Add(reasoned, state.spending);
    state.reasoned.push_back(reasoned);
  }
  switch (event.event_case()) {
    case v1::DiagnosisEvent::kSummarized:
      return ApplySummarized(state, event.summarized());
    case v1::DiagnosisEvent::kHypothesesProposed:
      return ApplyProposed(state, event.hypotheses_proposed());
    case v1::DiagnosisEvent::kCheckCompleted:
      return ApplyCheckCompleted(state, event.check_completed().result());
    case v1::DiagnosisEvent::kChecksFinished:
      state.batch_open = false;
      if (event.checks_finished().batch() ==
          EffectId(Effect::Kind::kChecks, kOpeningBatch, state.round.number)) {
        state.opening_finished = true;
      }
      if (event.checks_finished().batch() ==
          EffectId(Effect::Kind::kSupplied, "", state.round.number)) {
        state.round.told_read = true;
      }
      return;
    case v1::DiagnosisEvent::kScreened:
      return ApplyScreened(state, event.screened());
    case v1::DiagnosisEvent::kChildrenRanked:
      return ApplyRanked(state, event.children_ranked());
    case v1::DiagnosisEvent::kVerdictsGiven:
      return ApplyVerdicts(state, event.verdicts_given());
    case v1::DiagnosisEvent::kBranchLeft:
      return ApplyBranchLeft(state, event.branch_left());
    case v1::DiagnosisEvent::kCritiqued:
      return ApplyCritiqued(state, event.critiqued());
    case v1::DiagnosisEvent::kInvestigated:
      return ApplyInvestigated(state, event.investigated());
    case v1::DiagnosisEvent::kLooked:
      return Apply(state.round.investigation, event.looked());
    case v1::DiagnosisEvent::kExplored:
      state.round.explored = true;
      state.round.suggestions.assign(event.explored().suggestions().begin(),
                                     event.explored().suggestions().end());
      state.round.questions.assign(event.explored().questions().begin(),
                                   event.explored().questions().end());
      state.round.tests.assign(event.explored().tests().begin(), event.explored().tests().end());
      return;
    case v1::DiagnosisEvent::kConcluded:
      return ApplyConcluded(state, event.concluded());
    case v1::DiagnosisEvent::kFeedbackReceived:
      state.asker = event.feedback_received().asker();
      return ReceiveAnswer(state, event.feedback_received());
    case v1::DiagnosisEvent::kCallFailed:
      return ApplyCallFailed(state, event.call_failed(), ToTime(event.event_time()));
    case v1::DiagnosisEvent::kEscalated:
      state.lifecycle = v1::Diagnosis::ESCALATED;
      state.escalation = event.escalated().reason();
      return;
    case v1::DiagnosisEvent::kCancelled:
      state.lifecycle = v1::Diagnosis::CANCELLED;
      return;
    case v1::DiagnosisEvent::kFailed:
      state.error = event.failed().error();
      if (state.lifecycle != v1::Diagnosis::ESCALATED) state.lifecycle = v1::Diagnosis::FAILED;
      return;
    case v1::DiagnosisEvent::kCreated:
    case v1::DiagnosisEvent::EVENT_NOT_SET:
      return;
  }
}

std::string ResultId(absl::string_view check, absl::string_view node) {
  return absl::StrCat(check, "@", node);
}

bool IsLive(const State& state) { return state.incident.bundle().empty(); }

bool IsOver(const State& state) {
  switch (state.lifecycle) {
    case v1::Diagnosis::SUCCEEDED:
    case v1::Diagnosis::FAILED:
    case v1::Diagnosis::CANCELLED:
      return true;
    case v1::Diagnosis::ESCALATED:
      return state.round.concluded || state.error.code() != 0;
    default:
      return false;
  }
}

bool IsInactive(const State& state) {
  return IsOver(state) ||
         (state.lifecycle == v1::Diagnosis::AWAITING_FEEDBACK && state.round.number < kMaxRounds);
}

const TrackedHypothesis* FindHypothesis(const State& state, absl::string_view label) {
  const auto it = state.index_of.find(std::string(label));
  return it == state.index_of.end() ? nullptr : &state.hypotheses[it->second];
}

bool AnyConfirmed(const State& state) {
  return std::any_of(state.hypotheses.begin(), state.hypotheses.end(),
                     [](const TrackedHypothesis& t) {
                       return t.hypothesis.status() == v1::Hypothesis::CONFIRMED;
                     });
}

}  // namespace galen::orchestrator
