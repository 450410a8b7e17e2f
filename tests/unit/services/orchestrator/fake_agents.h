#ifndef TESTS_UNIT_SERVICES_ORCHESTRATOR_FAKE_AGENTS_H_
#define TESTS_UNIT_SERVICES_ORCHESTRATOR_FAKE_AGENTS_H_

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "services/orchestrator/agents.h"
#include "tests/testing/fake_clock.h"

namespace galen::orchestrator {

// A world for diagnoses: the taxonomy, the truth, the failures. Answers follow from the question
// and the world alone. Set it up before the first question; the counts are thread-safe.
class FakeAgents final : public clients::SummarizationClient,
                         public clients::PlanningClient,
                         public clients::ExecutionClient,
                         public clients::ReflectionClient,
                         public clients::ConclusionClient {
 public:
  // Answers come while the question is asked, or on `executor` where one is given.
  explicit FakeAgents(Executor* executor = nullptr);

  Agents agents() { return {*this, *this, *this, *this, *this}; }

  std::vector<std::string> nodes = {"n1", "n2"};
  std::vector<v1::ProposedHypothesis> history;
  std::vector<v1::ProposedHypothesis> at_once;
  std::vector<planning::v1::ScreenResponse> screens;
  std::map<std::string, std::vector<v1::RankedChild>> children;
  std::map<std::string, v1::Verdict::Outcome> truth;  // INCONCLUSIVE for missing labels
  std::vector<v1::ProposedHypothesis> critique;
  std::vector<v1::Question> tests;
  // Errors that a method gives before it answers, by its name: "Judge", "RunChecks", ...
  std::map<std::string, std::deque<absl::Status>> failures;
  // Methods that never answer.
  std::set<std::string> silent;
  // Pairs that RunChecks leaves out, as "check@node".
  std::set<std::string> left_out;

  // The number of runs of each pair "check@node", and of calls of each method.
  std::map<std::string, int> runs();
  int calls(const std::string& method);

  void Summarize(const summarization::v1::SummarizeRequest& request, absl::Time deadline,
                 clients::Done<summarization::v1::SummarizeResponse> done) override;
  void ProposeFromHistory(clients::Shared<planning::v1::ProposeFromHistoryRequest> request,
                          absl::Time deadline,
                          clients::Done<planning::v1::ProposeFromHistoryResponse> done) override;
  void RankChildren(clients::Shared<planning::v1::RankChildrenRequest> request, absl::Time deadline,
                    clients::Done<planning::v1::RankChildrenResponse> done) override;
  // The first of `screens` that is not carried out yet, or nothing.
  void Screen(clients::Shared<planning::v1::ScreenRequest> request, absl::Time deadline,
              clients::Done<planning::v1::ScreenResponse> done) override;
  void ProposeAtOnce(clients::Shared<planning::v1::ProposeAtOnceRequest> request,
                     absl::Time deadline,
                     clients::Done<planning::v1::ProposeAtOnceResponse> done) override;
  // Every leaf among `children`.
  void ListCauses(const planning::v1::ListCausesRequest& request, absl::Time deadline,
                  clients::Done<planning::v1::ListCausesResponse> done) override;
  void Explore(clients::Shared<planning::v1::ExploreRequest> request, absl::Time deadline,
               clients::Done<planning::v1::ExploreResponse> done) override;
  void ResolveNodes(const execution::v1::ResolveNodesRequest& request, absl::Time deadline,
                    clients::Done<execution::v1::ResolveNodesResponse> done) override;
  clients::Cancel RunChecks(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Judge(clients::Shared<reflection::v1::JudgeRequest> request, absl::Time deadline,
             clients::Done<reflection::v1::JudgeResponse> done) override;
  void Critique(clients::Shared<reflection::v1::CritiqueRequest> request, absl::Time deadline,
                clients::Done<reflection::v1::CritiqueResponse> done) override;
  // The report's ticket is the whole request, so that any difference shows.
  void Conclude(clients::Shared<conclusion::v1::ConcludeRequest> request, absl::Time deadline,
                clients::Done<conclusion::v1::ConcludeResponse> done) override;

 private:
  enum class Turn { kAnswer, kFail, kSilence };
  Turn Take(const std::string& method, absl::Status& error);
  template <typename Response>
  void Reply(const std::string& method, clients::Done<Response> done, Response response);
  void Deliver(absl::AnyInvocable<void() &&> answer);

  Executor* const executor_;
  Mutex mu_;
  std::map<std::string, int> runs_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mu_);
};

// A world with a screening that leads nowhere, a taxonomy of two branches, pruned parts, an early
// stop, a history that is wrong and one cause, deep in the second branch: "B.D.CAUSE", decided by
// check "c4".
void MakeTieredWorld(FakeAgents& world);

v1::ProposedHypothesis Proposed(const std::string& label, const std::vector<std::string>& checks);
v1::RankedChild Child(const std::string& label, bool leaf, bool pruned,
                      const std::vector<std::string>& checks);

// Runs its tasks on command, on the caller's thread.
class ManualExecutor final : public Executor {
 public:
  [[nodiscard]] bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    MutexLock lock(mu_);
    if (full) return false;
    tasks_.push_back(std::move(task));
    return true;
  }
  // Until there is none left.
  void RunAll() {
    for (;;) {
      absl::AnyInvocable<void() &&> task;
      {
        MutexLock lock(mu_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      std::move(task)();
    }
  }
  bool full = false;

 private:
  Mutex mu_;
  std::deque<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mu_);
};

using galen::testing::FakeClock;

}  // namespace galen::orchestrator

#endif  // TESTS_UNIT_SERVICES_ORCHESTRATOR_FAKE_AGENTS_H_
