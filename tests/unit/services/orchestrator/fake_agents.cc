#include "tests/unit/services/orchestrator/fake_agents.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::orchestrator {

FakeAgents::FakeAgents(Executor* executor) : executor_(executor) {}

std::map<std::string, int> FakeAgents::runs() {
  MutexLock lock(mu_);
  return runs_;
}

int FakeAgents::calls(const std::string& method) {
  MutexLock lock(mu_);
  return calls_[method];
}

FakeAgents::Turn FakeAgents::Take(const std::string& method, absl::Status& error) {
  MutexLock lock(mu_);
  ++calls_[method];
  if (silent.count(method) > 0) return Turn::kSilence;
  std::deque<absl::Status>& errors = failures[method];
  if (errors.empty()) return Turn::kAnswer;
  error = errors.front();
  errors.pop_front();
  return Turn::kFail;
}

void FakeAgents::Deliver(absl::AnyInvocable<void() &&> answer) {
  if (executor_ == nullptr) {
    std::move(answer)();
    return;
  }
  // A call that the executor refuses would never be answered: these tests do not fill it.
  if (!executor_->TrySchedule(std::move(answer))) std::abort();
}

template <typename Response>
void FakeAgents::Reply(const std::string& method, clients::Done<Response> done, Response response) {
  absl::Status error;
  switch (Take(method, error)) {
    case Turn::kSilence:
      return;
    case Turn::kFail:
      Deliver([done = std::move(done), error]() mutable { std::move(done)(error); });
      return;
    case Turn::kAnswer:
      Deliver([done = std::move(done), response = std::move(response)]() mutable {
        std::move(done)(std::move(response));
      });
      return;
  }
}

void FakeAgents::Summarize(const summarization::v1::SummarizeRequest& request, absl::Time,
                           clients::Done<summarization::v1::SummarizeResponse> done) {
  summarization::v1::SummarizeResponse response;
  response.mutable_summary()->set_text(
      absl::StrCat(request.incident().description(), " +", request.feedback_size()));
  Reply("Summarize", std::move(done), std::move(response));
}

void FakeAgents::ProposeFromHistory(clients::Shared<planning::v1::ProposeFromHistoryRequest>,
                                    absl::Time,
                                    clients::Done<planning::v1::ProposeFromHistoryResponse> done) {
  planning::v1::ProposeFromHistoryResponse response;
  for (const v1::ProposedHypothesis& proposed : history) *response.add_hypotheses() = proposed;
  Reply("ProposeFromHistory", std::move(done), std::move(response));
}

void FakeAgents::RankChildren(clients::Shared<planning::v1::RankChildrenRequest> request,
                              absl::Time, clients::Done<planning::v1::RankChildrenResponse> done) {
  planning::v1::RankChildrenResponse response;
  if (const auto it = children.find(request->label()); it != children.end()) {
    for (const v1::RankedChild& child : it->second) *response.add_children() = child;
  }
  Reply("RankChildren", std::move(done), std::move(response));
}

void FakeAgents::Screen(clients::Shared<planning::v1::ScreenRequest> request, absl::Time,
                        clients::Done<planning::v1::ScreenResponse> done) {
  std::set<std::string> known;
  for (const v1::CheckResult& result : request->evidence().results()) {
    known.insert(result.check());
  }
  for (const v1::Hypothesis& judged : request->judged()) known.insert(judged.label());
  planning::v1::ScreenResponse next;
  for (const planning::v1::ScreenResponse& screen : screens) {
    bool carried_out = true;
    for (const std::string& check : screen.checks()) carried_out &= known.contains(check);
    for (const v1::ProposedHypothesis& proposed : screen.hypotheses()) {
      carried_out &= known.contains(proposed.hypothesis().label());
    }
    if (carried_out) continue;
    next = screen;
    break;
  }
  Reply("Screen", std::move(done), std::move(next));
}

void FakeAgents::ProposeAtOnce(clients::Shared<planning::v1::ProposeAtOnceRequest>, absl::Time,
                               clients::Done<planning::v1::ProposeAtOnceResponse> done) {
  planning::v1::ProposeAtOnceResponse response;
  for (const v1::ProposedHypothesis& proposed : at_once) *response.add_hypotheses() = proposed;
  Reply("ProposeAtOnce", std::move(done), std::move(response));
}

void FakeAgents::ListCauses(const planning::v1::ListCausesRequest&, absl::Time,
                            clients::Done<planning::v1::ListCausesResponse> done) {
  planning::v1::ListCausesResponse response;
  for (const auto& [label, below] : children) {
    for (const v1::RankedChild& child : below) {
      if (!child.leaf()) continue;
      *response.add_hypotheses() =
          Proposed(child.label(), {child.checks().begin(), child.checks().end()});
    }
  }
  Reply("ListCauses", std::move(done), std::move(response));
}

void FakeAgents::Explore(clients::Shared<planning::v1::ExploreRequest> request, absl::Time,
                         clients::Done<planning::v1::ExploreResponse> done) {
  planning::v1::ExploreResponse response;
  response.add_suggestions()->set_title(absl::StrCat(request->judged_size(), " were judged"));
  for (const v1::Question& test : tests) *response.add_tests() = test;
  Reply("Explore", std::move(done), std::move(response));
}

void FakeAgents::ResolveNodes(const execution::v1::ResolveNodesRequest&, absl::Time,
                              clients::Done<execution::v1::ResolveNodesResponse> done) {
  execution::v1::ResolveNodesResponse response;
  for (const std::string& node : nodes) response.add_nodes(node);
  Reply("ResolveNodes", std::move(done), std::move(response));
}

clients::Cancel FakeAgents::RunChecks(const execution::v1::RunChecksRequest& request, absl::Time,
                                      clients::OnMessage<v1::CheckResult> on_result,
                                      absl::AnyInvocable<void(absl::Status) &&> done) {
  absl::Status status;
  const Turn turn = Take("RunChecks", status);
  std::vector<v1::CheckResult> results;
  for (const std::string& node : request.nodes()) {
    for (const std::string& check : request.checks()) {
      v1::CheckResult& result = results.emplace_back();
      result.set_id(absl::StrCat(check, "@", node));
      result.set_check(check);
      result.set_node(node);
      result.set_status(v1::CheckResult::FAIL);
      if (left_out.count(result.id()) > 0) results.pop_back();
    }
  }
  // A stream that breaks gave one result before.
  if (turn != Turn::kAnswer && results.size() > 1) results.resize(1);
  {
    MutexLock lock(mu_);
    for (const v1::CheckResult& result : results) ++runs_[result.id()];
  }
  Deliver([results = std::move(results), on_result = std::move(on_result), done = std::move(done),
           turn, status]() mutable {
    for (v1::CheckResult& result : results) on_result(std::move(result));
    if (turn != Turn::kSilence) std::move(done)(status);
  });
  return [this] {
    MutexLock lock(mu_);
    ++calls_["Cancel RunChecks"];
  };
}

void FakeAgents::Judge(clients::Shared<reflection::v1::JudgeRequest> request, absl::Time,
                       clients::Done<reflection::v1::JudgeResponse> done) {
  reflection::v1::JudgeResponse response;
  for (const std::string& label : request->labels()) {
    v1::Verdict& verdict = *response.add_verdicts();
    verdict.set_label(label);
    const auto it = truth.find(label);
    verdict.set_outcome(it == truth.end() ? v1::Verdict::INCONCLUSIVE : it->second);
    verdict.add_reasons()->set_text(absl::StrCat(request->evidence().results_size(), " results"));
  }
  Reply("Judge", std::move(done), std::move(response));
}

void FakeAgents::Critique(clients::Shared<reflection::v1::CritiqueRequest>, absl::Time,
                          clients::Done<reflection::v1::CritiqueResponse> done) {
  reflection::v1::CritiqueResponse response;
  for (const v1::ProposedHypothesis& added : critique) *response.add_add() = added;
  Reply("Critique", std::move(done), std::move(response));
}

void FakeAgents::Conclude(clients::Shared<conclusion::v1::ConcludeRequest> request, absl::Time,
                          clients::Done<conclusion::v1::ConcludeResponse> done) {
  conclusion::v1::ConcludeResponse response;
  v1::Report& report = *response.mutable_report();
  report.set_outcome(v1::Report::NO_CAUSE_CONFIRMED);
  for (const v1::Hypothesis& hypothesis : request->hypotheses()) {
    if (hypothesis.status() != v1::Hypothesis::CONFIRMED) continue;
    report.set_outcome(v1::Report::CAUSE_CONFIRMED);
    report.mutable_primary_cause()->set_label(hypothesis.label());
  }
  if (!report.has_primary_cause() && !request->presumed().empty()) {
    report.mutable_presumed_cause()->set_label(request->presumed());
  }
  for (const std::string& note : request->notes()) report.add_notes(note);
  // After a crash, the observation times differ.
  conclusion::v1::ConcludeRequest timeless = *request;
  for (v1::CheckResult& result : *timeless.mutable_evidence()->mutable_results()) {
    result.clear_observe_time();
  }
  for (v1::Exchange& exchange : *timeless.mutable_dialogue()) exchange.clear_time();
  report.set_ticket(timeless.DebugString());
  Reply("Conclude", std::move(done), std::move(response));
}

v1::ProposedHypothesis Proposed(const std::string& label, const std::vector<std::string>& checks) {
  v1::ProposedHypothesis proposed;
  proposed.mutable_hypothesis()->set_label(label);
  for (const std::string& check : checks) proposed.add_checks(check);
  return proposed;
}

v1::RankedChild Child(const std::string& label, bool leaf, bool pruned,
                      const std::vector<std::string>& checks) {
  v1::RankedChild child;
  child.set_label(label);
  child.set_leaf(leaf);
  child.set_pruned(pruned);
  child.set_probability(0.5);
  for (const std::string& check : checks) child.add_checks(check);
  return child;
}

void MakeTieredWorld(FakeAgents& world) {
  world.history = {Proposed("A.P.WRONG", {"c1", "c2"}), Proposed("A.P.OPEN", {"c2"})};
  world.children[""] = {Child("A", false, false, {"ga"}), Child("B", false, false, {"gb"}),
                        Child("C", false, true, {"gc"})};
  world.children["A"] = {Child("A.P", false, false, {}), Child("A.Q", false, false, {"ga"})};
  world.children["A.P"] = {Child("A.P.WRONG", true, false, {"c1"}),
                           Child("A.P.OPEN", true, false, {"c2"}),
                           Child("A.P.PRUNED", true, true, {"never"})};
  world.children["A.Q"] = {Child("A.Q.PRUNED", true, true, {"never"})};
  world.children["B"] = {Child("B.D", false, false, {"gd"})};
  world.children["B.D"] = {Child("B.D.OTHER", true, false, {"c3"}),
                           Child("B.D.CAUSE", true, false, {"c3", "c4"})};
  world.screens.resize(2);
  world.screens[0].add_checks("s1");
  *world.screens[1].add_hypotheses() = Proposed("F.SUSPECT", {"s1", "s2"});
  world.truth = {{"A.P.WRONG", v1::Verdict::REJECTED},
                 {"B.D.OTHER", v1::Verdict::REJECTED},
                 {"B.D.CAUSE", v1::Verdict::CONFIRMED},
                 {"E.ADDED", v1::Verdict::CONFIRMED},
                 {"F.SUSPECT", v1::Verdict::REJECTED}};
  world.critique = {Proposed("E.ADDED", {"c4", "c5"})};
}

}  // namespace galen::orchestrator
