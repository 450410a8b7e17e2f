#include "services/orchestrator/investigation.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/request_evidence.h"
#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {
namespace {

using v1::ModelVerdict;
using v1::ToolCall;

// The agent that answers a call.
enum class Answerer { kSummarization, kPlanning, kExecution, kNobody };
Answerer AnswererOf(const ToolCall& call) {
  if (!call.refused().empty()) return Answerer::kNobody;
  switch (call.call_case()) {
    case ToolCall::kListArtefacts:
    case ToolCall::kReadLines:
    case ToolCall::kSearch:
      return Answerer::kSummarization;
    case ToolCall::kRunChecks:
      return Answerer::kExecution;
    case ToolCall::CALL_NOT_SET:
      return Answerer::kNobody;
    default:
      return Answerer::kPlanning;
  }
}

const Investigation& Of(const State& state) { return state.round.investigation; }

std::string TurnBatch(const State& state) { return absl::StrCat("turn-", Of(state).turns.size()); }

// The calls of the last turn that this agent still has to answer.
std::vector<int> Unanswered(const State& state, Answerer answerer) {
  std::vector<int> open;
  for (const int call : Of(state).unanswered) {
    if (AnswererOf(Of(state).turns.back().calls(call)) == answerer) open.push_back(call);
  }
  return open;
}

// Results in the order of the calls that this agent was asked.
template <typename Results>
v1::DiagnosisEvent Answered(const State& state, Answerer answerer, Results& results) {
  v1::DiagnosisEvent event;
  v1::Looked& looked = *event.mutable_looked();
  looked.set_turn(static_cast<int>(Of(state).turns.size()));
  int place = 0;
  for (const int call : Unanswered(state, answerer)) {
    v1::Looked::Answer& answer = *looked.add_answers();
    answer.set_call(call);
    if (place < results.size()) {
      *answer.mutable_result() = std::move(results[place++]);
    } else {
      answer.mutable_result()->set_text("There was no answer.");
    }
  }
  return event;
}

Decision AskAgent(const State& state, Effect::Kind kind, Answerer answerer) {
  if (Unanswered(state, answerer).empty()) return {};
  Effect effect = MakeEffect(state, kind, TurnBatch(state));
  if (!CallFailedForGood(state, effect.id)) return Call(state, std::move(effect), false);
  google::protobuf::RepeatedPtrField<v1::ToolResult> none;
  Decision decision;
  decision.events.push_back(Answered(state, answerer, none));
  return decision;
}

// All that the last turn asks for, at the same time.
Decision Carry(const State& state) {
  Decision decision;
  const auto add = [&](Decision more) {
    for (v1::DiagnosisEvent& event : more.events) decision.events.push_back(std::move(event));
    for (Effect& effect : more.effects) decision.effects.push_back(std::move(effect));
  };
  add(AskAgent(state, Effect::Kind::kLook, Answerer::kSummarization));
  add(AskAgent(state, Effect::Kind::kConsult, Answerer::kPlanning));
  std::vector<std::string> checks;
  for (const ToolCall& call : Of(state).turns.back().calls()) {
    if (AnswererOf(call) != Answerer::kExecution) continue;
    checks.insert(checks.end(), call.run_checks().checks().begin(),
                  call.run_checks().checks().end());
  }
  if (!checks.empty()) add(RunChecks(state, TurnBatch(state), checks, {}));
  if (!decision.events.empty()) decision.effects.clear();  // decided again once they are taken in
  return decision;
}

// The model is told once that a verdict does not stand, or that the rules contradict it.
bool IsContested(const State& state) {
  const v1::InvestigationTurn& turn = Of(state).turns.back();
  return std::any_of(turn.verdicts().begin(), turn.verdicts().end(), [&](const ModelVerdict& each) {
    if (!each.objection().empty()) return true;
    const TrackedHypothesis* tracked = FindHypothesis(state, each.label());
    if (tracked == nullptr) return false;
    const v1::Hypothesis::Status status = tracked->hypothesis.status();
    return (each.outcome() == ModelVerdict::CONFIRMED && status == v1::Hypothesis::REJECTED) ||
           (each.outcome() == ModelVerdict::REJECTED && status == v1::Hypothesis::CONFIRMED);
  });
}

// The first turn is Galen's own: what tells most of the texts is read before the model is asked, so
// that it need not ask for that.
Decision Open() {
  Decision decision;
  v1::Investigated& investigated = *decision.events.emplace_back().mutable_investigated();
  investigated.set_turn(1);
  investigated.add_calls()->mutable_read_lines();
  return decision;
}

int Conclusions(const State& state) {
  return static_cast<int>(
      std::count_if(Of(state).turns.begin(), Of(state).turns.end(),
                    [](const v1::InvestigationTurn& turn) { return turn.calls().empty(); }));
}

}  // namespace

Decision Investigate(const State& state) {
  const Investigation& own = Of(state);
  if (!own.open) return {};
  if (own.turns.empty() && !own.ended) return Open();
  if (!own.turns.empty()) {
    if (!own.turns.back().calls().empty()) {
      if (Decision decision = Carry(state); !decision.empty()) return decision;
    } else {
      if (Decision decision = TestHypotheses(state, TurnBatch(state), own.labels);
          !decision.empty()) {
        return decision;
      }
      if (Conclusions(state) > 1 || !IsContested(state)) return {};
    }
  }
  if (own.ended || own.asked >= kMostAsked || static_cast<int>(own.turns.size()) >= kMostTurns) {
    return {};
  }
  return Call(state,
              MakeEffect(state, Effect::Kind::kInvestigate, absl::StrCat("ask-", own.asked + 1)),
              /*answered=*/false);
}

clients::Shared<reflection::v1::InvestigateRequest> InvestigateRequestOf(const State& state) {
  auto request = WithEvidence<reflection::v1::InvestigateRequest>(state);
  AddJudged(state, *request);
  for (const v1::InvestigationTurn& turn : Of(state).turns) *request->add_transcript() = turn;
  if (!Of(state).turns.empty()) {
    for (const auto& [id, result] : state.results) {
      if (Of(state).known.count(id) == 0) request->add_fresh(id);
    }
  }
  return request;
}

clients::Shared<summarization::v1::LookRequest> LookRequestOf(const State& state) {
  auto request = WithEvidence<summarization::v1::LookRequest>(state);
  // Here the logs are read.
  *request->mutable_incident() = state.incident;
  for (const int call : Unanswered(state, Answerer::kSummarization)) {
    *request->add_calls() = Of(state).turns.back().calls(call);
  }
  return request;
}

clients::Shared<planning::v1::ConsultRequest> ConsultRequestOf(const State& state) {
  auto request = WithEvidence<planning::v1::ConsultRequest>(state);
  for (const int call : Unanswered(state, Answerer::kPlanning)) {
    *request->add_calls() = Of(state).turns.back().calls(call);
  }
  return request;
}

v1::DiagnosisEvent InvestigatedEvent(const State& state,
                                     reflection::v1::InvestigateResponse response) {
  v1::DiagnosisEvent event;
  event.mutable_reasoned()->Swap(response.mutable_reasoned());
  v1::Investigated& investigated = *event.mutable_investigated();
  investigated.set_turn(static_cast<int>(Of(state).turns.size()) + 1);
  for (ToolCall& call : *response.mutable_calls()) {
    if (investigated.calls_size() == kMostCallsOfTurn) break;
    if (call.call_case() == ToolCall::CALL_NOT_SET) continue;
    *investigated.add_calls() = std::move(call);
  }
  investigated.set_ended(std::move(*response.mutable_ended()));
  investigated.set_concluded(response.concluded() && investigated.calls().empty());
  if (!investigated.concluded()) return event;
  investigated.mutable_verdicts()->Swap(response.mutable_verdicts());
  investigated.set_explanation(std::move(*response.mutable_explanation()));
  investigated.mutable_suggestions()->Swap(response.mutable_suggestions());
  // Only what its verdicts confirm, each once.
  std::set<std::string> confirmed;
  for (const ModelVerdict& verdict : investigated.verdicts()) {
    if (verdict.outcome() == ModelVerdict::CONFIRMED && verdict.objection().empty()) {
      confirmed.insert(verdict.label());
    }
  }
  for (v1::ProposedHypothesis& proposed : *response.mutable_hypotheses()) {
    const std::string& label = proposed.hypothesis().label();
    if (label.empty() || confirmed.erase(label) == 0) continue;
    *investigated.add_hypotheses() = std::move(proposed);
  }
  return event;
}

v1::DiagnosisEvent LookedEvent(const State& state, summarization::v1::LookResponse response) {
  return Answered(state, Answerer::kSummarization, *response.mutable_results());
}

v1::DiagnosisEvent ConsultedEvent(const State& state, planning::v1::ConsultResponse response) {
  v1::DiagnosisEvent event = Answered(state, Answerer::kPlanning, *response.mutable_results());
  event.mutable_reasoned()->Swap(response.mutable_reasoned());
  return event;
}

}  // namespace galen::orchestrator
