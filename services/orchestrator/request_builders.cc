#include "services/orchestrator/request_builders.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/security/identity.h"
#include "services/orchestrator/changes.h"
#include "services/orchestrator/request_evidence.h"
#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {
v1::Incident WithoutLogContents(const v1::Incident& incident) {
  v1::Incident bare = incident;
  for (v1::LogSource& log : *bare.mutable_logs()) log.clear_content();
  return bare;
}

namespace {

// Sets the time of the incident. For live machines, which are examined as they are now, it lasts at
// least until the last answer.
template <typename Request>
void SetWindow(const State& state, Request& request) {
  if (state.incident.has_start_time()) {
    *request.mutable_start_time() = state.incident.start_time();
  }
  if (!state.incident.has_end_time()) return;
  *request.mutable_end_time() = state.incident.end_time();
  if (!IsLive(state) || state.dialogue.empty()) return;
  const google::protobuf::Timestamp& answered = state.dialogue.back().time();
  if (answered.seconds() > request.end_time().seconds()) *request.mutable_end_time() = answered;
}

}  // namespace
summarization::v1::SummarizeRequest SummarizeRequestOf(const State& state) {
  summarization::v1::SummarizeRequest request;
  *request.mutable_incident() = state.incident;
  for (const std::string& text : state.feedback) request.add_feedback(text);
  for (const SuppliedEvidence& told : state.supplied) {
    summarization::v1::SuppliedEvidence& added = *request.add_supplied();
    added.set_source(told.source);
    *added.mutable_evidence() = told.evidence;
  }
  return request;
}

execution::v1::ResolveNodesRequest ResolveNodesRequestOf(const State& state) {
  execution::v1::ResolveNodesRequest request;
  *request.mutable_nodes() = state.incident.nodes();
  // Not for a capture, whose nodes are fixed, nor without named nodes, as all are examined already.
  if (IsLive(state) && !request.nodes().empty()) {
    for (const SuppliedEvidence& told : state.supplied)
      request.mutable_nodes()->MergeFrom(told.evidence.nodes());
  }
  request.set_bundle(state.incident.bundle());
  request.set_diagnosis(state.name);
  SetWindow(state, request);
  return request;
}

clients::Shared<planning::v1::ProposeFromHistoryRequest> HistoryRequestOf(const State& state) {
  auto request = WithEvidence<planning::v1::ProposeFromHistoryRequest>(state);
  request->set_max_causes(kHistoryCauses);
  request->set_tenant(std::string(security::TenantOf(state.name)));
  return request;
}

clients::Shared<planning::v1::ProposeAtOnceRequest> AtOnceRequestOf(const State& state) {
  auto request = WithEvidence<planning::v1::ProposeAtOnceRequest>(state);
  request->set_max_causes(kHistoryCauses);
  request->set_tenant(std::string(security::TenantOf(state.name)));
  return request;
}

execution::v1::RunChecksRequest RunChecksRequestOf(const State& state, const Effect& effect) {
  execution::v1::RunChecksRequest request;
  for (const std::string& check : effect.checks) request.add_checks(check);
  for (const std::string& node : state.nodes) {
    const bool misses = std::any_of(
        effect.checks.begin(), effect.checks.end(),
        [&](const std::string& check) { return state.results.count(ResultId(check, node)) == 0; });
    if (misses) request.add_nodes(node);
  }
  request.set_bundle(state.incident.bundle());
  request.set_diagnosis(state.name);
  request.set_look(state.round.number);
  SetWindow(state, request);
  if (state.incident.has_baseline()) *request.mutable_baseline() = state.incident.baseline();
  return request;
}

execution::v1::RunChecksRequest SuppliedRequestOf(const State& state) {
  execution::v1::RunChecksRequest request;
  request.set_everything(true);
  request.set_bundle(state.supplied.back().evidence.bundle());
  request.set_diagnosis(state.name);
  request.set_look(state.round.number);
  if (state.incident.has_start_time()) {
    *request.mutable_start_time() = state.incident.start_time();
  }
  return request;
}

clients::Shared<planning::v1::ScreenRequest> ScreenRequestOf(const State& state) {
  auto request = WithEvidence<planning::v1::ScreenRequest>(state);
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    if (!tracked.hypothesis.has_verdict()) continue;
    v1::Hypothesis& judged = *request->add_judged();
    judged.set_label(tracked.hypothesis.label());
    judged.set_status(tracked.hypothesis.status());
  }
  return request;
}

clients::Shared<planning::v1::RankChildrenRequest> RankRequestOf(const State& state,
                                                                 const Effect& effect) {
  auto request = WithEvidence<planning::v1::RankChildrenRequest>(state);
  request->set_label(effect.label);
  return request;
}

clients::Shared<reflection::v1::JudgeRequest> JudgeRequestOf(const State& state,
                                                             const Effect& effect) {
  auto request = WithEvidence<reflection::v1::JudgeRequest>(state);
  for (const std::string& label : effect.labels) request->add_labels(label);
  return request;
}

clients::Shared<reflection::v1::CritiqueRequest> CritiqueRequestOf(const State& state) {
  auto request = WithEvidence<reflection::v1::CritiqueRequest>(state);
  AddJudged(state, *request);
  // A proposal that waits for its verdict is part of the answer under critique.
  for (const std::string& label : state.round.history) {
    const TrackedHypothesis* tracked = FindHypothesis(state, label);
    if (!tracked->hypothesis.has_verdict()) *request->add_judged() = tracked->hypothesis;
  }
  return request;
}

clients::Shared<planning::v1::ExploreRequest> ExploreRequestOf(const State& state) {
  auto request = WithEvidence<planning::v1::ExploreRequest>(state);
  AddJudged(state, *request);
  // Nobody is asked twice, whichever check wants it.
  for (const v1::Exchange& exchange : state.dialogue) {
    for (const v1::Question& question : exchange.questions()) {
      request->add_asked(question.id());
      for (const std::string& command : question.commands()) {
        request->add_asked(absl::StrCat(command, "@", question.node()));
      }
    }
  }
  return request;
}

clients::Shared<conclusion::v1::ConcludeRequest> ConcludeRequestOf(const State& state) {
  auto request = WithEvidence<conclusion::v1::ConcludeRequest>(state);
  request->set_diagnosis(state.name);
  for (const TrackedHypothesis& tracked : state.hypotheses)
    *request->add_hypotheses() = tracked.hypothesis;
  for (const v1::Suggestion& suggestion : state.round.suggestions) {
    *request->add_suggestions() = suggestion;
  }
  for (const v1::Question& question : state.round.questions) *request->add_questions() = question;
  for (const v1::Question& test : state.round.tests) *request->add_tests() = test;
  for (const v1::Exchange& exchange : state.dialogue) *request->add_dialogue() = exchange;
  for (v1::Change& change : ChangesOf(state)) *request->add_changes() = std::move(change);
  request->set_escalation(state.escalation);
  for (const std::string& note : state.round.notes) request->add_notes(note);
  for (const v1::Reasoned& reasoned : state.reasoned) *request->add_reasoned() = reasoned;
  if (const Strategy* strategy = FindStrategy(state.strategy); strategy != nullptr) {
    request->set_presumed(strategy->Presumed(state));
  }
  const Investigation& investigation = state.round.investigation;
  for (const v1::Suggestion& suggestion : investigation.suggestions) {
    *request->add_suggestions() = suggestion;
  }
  if (const v1::InvestigationTurn* conclusion = Conclusion(investigation); conclusion != nullptr) {
    *request->mutable_model_verdicts() = conclusion->verdicts();
    request->set_model_explanation(conclusion->explanation());
  }
  return request;
}

}  // namespace galen::orchestrator
