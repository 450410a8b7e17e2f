#include "services/orchestrator/event_builders.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/base/retry_hint.h"
#include "google/rpc/error_details.pb.h"
#include "services/orchestrator/supplied_evidence.h"

namespace galen::orchestrator {
namespace {

// Moves what models had to do with an answer to its event.
template <typename Response>
void TakeReasoned(Response& response, v1::DiagnosisEvent& event) {
  event.mutable_reasoned()->Swap(response.mutable_reasoned());
}

// At most `most` of the hypotheses, of distinct labels.
template <typename Response>
v1::DiagnosisEvent Proposed(Response response, v1::Hypothesis::Origin origin, int most) {
  v1::DiagnosisEvent event;
  if constexpr (requires { response.reasoned(); }) TakeReasoned(response, event);
  v1::HypothesesProposed& proposed = *event.mutable_hypotheses_proposed();
  proposed.set_origin(origin);
  std::set<std::string> seen;
  for (v1::ProposedHypothesis& hypothesis : *response.mutable_hypotheses()) {
    if (proposed.hypotheses_size() == most) break;
    const std::string& label = hypothesis.hypothesis().label();
    if (label.empty() || !seen.insert(label).second) continue;
    *proposed.add_hypotheses() = std::move(hypothesis);
  }
  return event;
}

// Whether a question to this agent was given up in this round as it could not be reached. Then it
// has had its time to come back, and a search of many questions must not wait for it at each.
bool WasGivenUp(const State& state, absl::string_view agent) {
  return std::any_of(state.round.calls.begin(), state.round.calls.end(),
                     [agent](const auto& entry) {
                       const auto code = static_cast<absl::StatusCode>(entry.second.error.code());
                       return entry.second.final && AgentOf(entry.first) == agent &&
                              (code == absl::StatusCode::kUnavailable ||
                               code == absl::StatusCode::kResourceExhausted);
                     });
}

}  // namespace

v1::DiagnosisEvent SummarizedEvent(summarization::v1::SummarizeResponse summary,
                                   execution::v1::ResolveNodesResponse nodes) {
  v1::DiagnosisEvent event;
  v1::Summarized& summarized = *event.mutable_summarized();
  *summarized.mutable_summary() = std::move(*summary.mutable_summary());
  std::set<std::string> seen;
  for (std::string& node : *nodes.mutable_nodes()) {
    if (seen.insert(node).second) summarized.add_nodes(std::move(node));
  }
  std::set<std::string> checks;
  for (std::string& check : *nodes.mutable_opening_checks()) {
    if (summarized.opening_checks_size() == kMaxOpeningChecks) break;
    if (checks.insert(check).second) summarized.add_opening_checks(std::move(check));
  }
  return event;
}

v1::DiagnosisEvent ProposedEvent(planning::v1::ProposeFromHistoryResponse response) {
  return Proposed(std::move(response), v1::Hypothesis::HISTORY, kHistoryCauses);
}

v1::DiagnosisEvent AtOnceEvent(planning::v1::ProposeAtOnceResponse response) {
  return Proposed(std::move(response), v1::Hypothesis::DIRECT, kHistoryCauses);
}

v1::DiagnosisEvent CausesListedEvent(planning::v1::ListCausesResponse response) {
  return Proposed(std::move(response), v1::Hypothesis::TAXONOMY, kMaxCauses);
}

v1::DiagnosisEvent ScreenedEvent(planning::v1::ScreenResponse response) {
  v1::DiagnosisEvent event;
  v1::Screened& screened = *event.mutable_screened();
  std::set<std::string> seen;
  for (v1::ProposedHypothesis& proposed : *response.mutable_hypotheses()) {
    const std::string& label = proposed.hypothesis().label();
    if (label.empty() || !seen.insert(label).second) continue;
    *screened.add_hypotheses() = std::move(proposed);
  }
  if (screened.hypotheses_size() == 0) screened.mutable_checks()->Swap(response.mutable_checks());
  return event;
}

v1::DiagnosisEvent RankedEvent(const Effect& effect, planning::v1::RankChildrenResponse response) {
  v1::DiagnosisEvent event;
  TakeReasoned(response, event);
  v1::ChildrenRanked& ranked = *event.mutable_children_ranked();
  ranked.set_label(effect.label);
  std::set<std::string> seen;
  for (v1::RankedChild& child : *response.mutable_children()) {
    if (child.label().empty() || !seen.insert(child.label()).second) continue;
    *ranked.add_children() = std::move(child);
  }
  return event;
}

v1::DiagnosisEvent VerdictsEvent(const Effect& effect, reflection::v1::JudgeResponse response) {
  std::map<std::string, v1::Verdict*> given;
  for (v1::Verdict& verdict : *response.mutable_verdicts()) {
    given.emplace(verdict.label(), &verdict);
  }
  v1::DiagnosisEvent event;
  TakeReasoned(response, event);
  event.mutable_verdicts_given()->set_batch(effect.id);
  for (const std::string& label : effect.labels) {
    v1::Verdict& verdict = *event.mutable_verdicts_given()->add_verdicts();
    if (const auto it = given.find(label);
        it != given.end() && it->second->outcome() != v1::Verdict::OUTCOME_UNSPECIFIED) {
      verdict = std::move(*it->second);
      continue;
    }
    verdict.set_label(label);
    verdict.set_outcome(v1::Verdict::INCONCLUSIVE);
    verdict.add_reasons()->set_text("reflection gave no verdict on it");
  }
  return event;
}

v1::DiagnosisEvent CritiquedEvent(const State& state, reflection::v1::CritiqueResponse response) {
  v1::DiagnosisEvent event;
  TakeReasoned(response, event);
  v1::Critiqued& critiqued = *event.mutable_critiqued();
  std::set<std::string> seen;
  for (v1::ProposedHypothesis& added : *response.mutable_add()) {
    const std::string& label = added.hypothesis().label();
    const TrackedHypothesis* known = FindHypothesis(state, label);
    if (label.empty() || (known != nullptr && known->hypothesis.has_verdict())) continue;
    if (seen.insert(label).second) *critiqued.add_add() = std::move(added);
  }
  critiqued.mutable_remarks()->Swap(response.mutable_remarks());
  critiqued.set_investigates(response.investigates());
  return event;
}

v1::DiagnosisEvent ExploredEvent(planning::v1::ExploreResponse response) {
  v1::DiagnosisEvent event;
  TakeReasoned(response, event);
  v1::Explored& explored = *event.mutable_explored();
  explored.mutable_suggestions()->Swap(response.mutable_suggestions());
  explored.mutable_questions()->Swap(response.mutable_questions());
  explored.mutable_tests()->Swap(response.mutable_tests());
  return event;
}

v1::DiagnosisEvent ConcludedEvent(conclusion::v1::ConcludeResponse response) {
  v1::DiagnosisEvent event;
  TakeReasoned(response, event);
  v1::Concluded& concluded = *event.mutable_concluded();
  *concluded.mutable_report() = std::move(*response.mutable_report());
  concluded.mutable_reasoning()->Swap(response.mutable_reasoning());
  return event;
}

std::optional<v1::DiagnosisEvent> ResultEvent(const State& state, const Effect& effect,
                                              v1::CheckResult result) {
  const bool asked = std::find(effect.checks.begin(), effect.checks.end(), result.check()) !=
                         effect.checks.end() &&
                     state.node_set.count(result.node()) > 0;
  std::string id = ResultId(result.check(), result.node());
  if (!asked || state.results.count(id) > 0) return std::nullopt;
  if (result.status() == v1::CheckResult::RUNNING) return std::nullopt;  // no result yet
  result.set_id(std::move(id));
  result.clear_told();
  if (result.status() == v1::CheckResult::STATUS_UNSPECIFIED) {
    result.set_status(v1::CheckResult::ERROR);
    result.set_message("the node gave a result without a status");
  }
  v1::DiagnosisEvent event;
  *event.mutable_check_completed()->mutable_result() = std::move(result);
  return event;
}

std::optional<v1::DiagnosisEvent> SuppliedResultEvent(const State& state, v1::CheckResult result) {
  if (state.supplied.empty() || result.check().empty() || result.node().empty())
    return std::nullopt;
  // A check without a definite result says nothing: most checks find nothing of theirs in an
  // answer.
  if (!IsDefinite(result)) return std::nullopt;
  std::string id = ResultId(result.check(), result.node());
  const std::string& source = state.supplied.back().source;
  // A capture and what was given on top of it are read together: what comes out as before, and what
  // passes where nobody had looked, is nothing that the answer told.
  if (!IsLive(state) && state.node_set.count(result.node()) > 0) {
    const auto before = state.evidence.find(id);
    if (before == state.evidence.end()) {
      if (result.status() == v1::CheckResult::PASS) return std::nullopt;
    } else if (AreEquivalent(*before->second, result)) {
      return std::nullopt;
    }
  }
  const auto known = state.supplied_results.find(id);
  if (known != state.supplied_results.end() && known->second->told() == source) return std::nullopt;
  result.set_id(std::move(id));
  result.set_told(source);
  v1::DiagnosisEvent event;
  *event.mutable_check_completed()->mutable_result() = std::move(result);
  return event;
}

v1::DiagnosisEvent CallFailedEvent(const State& state, const Effect& effect,
                                   const absl::Status& error, const RetryLimits& retry_limits) {
  const auto it = state.round.calls.find(effect.id);
  const int attempt = it == state.round.calls.end() ? 1 : it->second.attempts + 1;
  v1::DiagnosisEvent event;
  v1::CallFailed& failed = *event.mutable_call_failed();
  failed.set_call(effect.id);
  failed.set_attempt(attempt);
  failed.mutable_error()->set_code(static_cast<int>(error.code()));
  failed.mutable_error()->set_message(std::string(error.message()));
  if (const auto wait = RetryAfter(error)) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_seconds(
        absl::ToInt64Seconds(absl::Ceil(*wait, absl::Seconds(1))));
    failed.mutable_error()->add_details()->PackFrom(info);
  }
  RetryLimits left = retry_limits;
  if (WasGivenUp(state, AgentOf(effect.id))) {
    left.unreachable = std::min(left.unreachable, left.otherwise);
  }
  failed.set_final(IsFinalFailure(error.code(), attempt, left));
  return event;
}

}  // namespace galen::orchestrator
