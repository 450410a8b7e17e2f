#include "services/orchestrator/receive_answer.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/llm/usage/usage.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/supplied_evidence.h"

namespace galen::orchestrator {
namespace {

using Shared = std::shared_ptr<const v1::CheckResult>;

Shared FindIn(const State::Results& results, const std::string& id) {
  const auto it = results.find(id);
  return it == results.end() ? nullptr : it->second;
}

std::string LastAnswer(const State& state) {
  return absl::StrCat("feedback/", state.dialogue.size());
}

// The result without what would refute: it is older than the last answer.
Shared Seen(const Shared& result) {
  if (result == nullptr || result->status() != v1::CheckResult::FAIL) return nullptr;
  return std::make_shared<v1::CheckResult>(EarlierAbnormalFindings(*result));
}

void OpenVerdicts(State& state) {
  for (TrackedHypothesis& tracked : state.hypotheses) {
    tracked.before.reset();
    if (!tracked.hypothesis.has_verdict()) continue;
    tracked.before = tracked.hypothesis.verdict();
    tracked.hypothesis.clear_verdict();
    tracked.hypothesis.set_status(v1::Hypothesis::PENDING);
  }
}

// Leave to run a test tells nothing of the machines: what was seen of them stays as new as it was.
bool SaysSomething(const v1::FeedbackReceived& feedback) {
  return !feedback.text().empty() || feedback.has_evidence() || feedback.look_again();
}

void OutdateResults(State& state, bool outdated) {
  state.evidence_before = state.evidence;
  if (!IsLive(state) || !outdated) return;
  for (auto& [id, result] : state.results) state.earlier[id] = std::move(result);
  state.results.clear();
  state.done.clear();
  std::set<std::string> ids;
  for (const auto& [id, result] : state.evidence) ids.insert(id);
  for (const std::string& id : ids) PutTogether(state, id);
}

v1::Exchange ExchangeOf(const State& state, const v1::FeedbackReceived& feedback) {
  v1::Exchange exchange;
  exchange.set_round(state.round.number + 1);
  for (const v1::Question& question : state.round.questions) *exchange.add_questions() = question;
  exchange.set_text(feedback.has_evidence() ? feedback.evidence().description() : feedback.text());
  exchange.set_by(feedback.by());
  *exchange.mutable_time() = state.update_time;
  *exchange.mutable_artefacts() = feedback.evidence().artefacts();
  exchange.set_look_again(feedback.look_again());
  *exchange.mutable_allowed_tests() = feedback.allowed_tests();
  return exchange;
}

}  // namespace

void PutTogether(State& state, const std::string& id) {
  Shared machine = FindIn(state.results, id);
  if (machine == nullptr || !IsDefinite(*machine)) {
    if (const Shared before = Seen(FindIn(state.earlier, id)); before != nullptr) machine = before;
  }
  Shared told = FindIn(state.supplied_results, id);
  if (told != nullptr && IsLive(state) && told->told() != LastAnswer(state)) told = Seen(told);
  if (machine == nullptr && told == nullptr) {
    state.evidence.erase(id);
  } else if (machine == nullptr || told == nullptr) {
    state.evidence[id] = machine == nullptr ? told : machine;
  } else {
    const bool machine_is_newer = IsLive(state) && state.results.count(id) > 0;
    state.evidence[id] =
        std::make_shared<v1::CheckResult>(MergeSupplied(*machine, *told, machine_is_newer).result);
  }
}

void ReceiveAnswer(State& state, const v1::FeedbackReceived& feedback) {
  if (!feedback.request_id().empty()) state.feedback_requests.insert(feedback.request_id());
  if (!feedback.confirmed_label().empty()) {
    v1::Confirmation confirmation;
    confirmation.set_label(feedback.confirmed_label());
    confirmation.set_by(feedback.confirmed_by());
    confirmation.set_note(feedback.text());
    *confirmation.mutable_time() = state.update_time;
    state.confirmation = std::move(confirmation);
    return;
  }
  state.dialogue.push_back(ExchangeOf(state, feedback));
  state.feedback.push_back(state.dialogue.back().text());
  usage::BeginRound(state.spending);
  Round next;
  next.number = state.round.number + 1;
  next.allowed = AllowedTests(state, feedback.allowed_tests());
  for (const AllowedTest& test : next.allowed) {
    state.active_checks.insert(test.check);
    // A test that is allowed again runs again.
    for (const std::string& node : test.nodes) state.results.erase(ResultId(test.check, node));
  }
  if (feedback.has_evidence()) {
    state.supplied.push_back({LastAnswer(state), feedback.evidence()});
    next.told_read = feedback.evidence().bundle().empty();
  }
  state.round = std::move(next);
  OpenVerdicts(state);
  OutdateResults(state, SaysSomething(feedback));
  state.belief.clear();
  state.error.Clear();
  state.escalation.clear();
  state.lifecycle = v1::Diagnosis::RUNNING;
}

}  // namespace galen::orchestrator
