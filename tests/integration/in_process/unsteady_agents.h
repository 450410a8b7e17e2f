#ifndef TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_AGENTS_H_
#define TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_AGENTS_H_

#include "common/clients/clients.h"
#include "services/orchestrator/agents.h"
#include "tests/integration/in_process/dice.h"

namespace galen::in_process {

// Passes calls on to other agents, and fails now and then: before the agent was asked, after it
// answered, in the middle of a stream, or by never answering. Thread-safe.
class UnsteadyAgents final : public clients::SummarizationClient,
                             public clients::PlanningClient,
                             public clients::ExecutionClient,
                             public clients::ReflectionClient,
                             public clients::ConclusionClient {
 public:
  // The references must outlive it and every call. `percent` of the calls fail in each of the ways;
  // a fifth of that never answer.
  UnsteadyAgents(const orchestrator::Agents& real, Dice& dice, double percent)
      : real_(real), dice_(dice), percent_(percent) {}

  orchestrator::Agents agents() { return {*this, *this, *this, *this, *this}; }

  void Summarize(const summarization::v1::SummarizeRequest& request, absl::Time deadline,
                 clients::Done<summarization::v1::SummarizeResponse> done) override;
  void ProposeFromHistory(clients::Shared<planning::v1::ProposeFromHistoryRequest> request,
                          absl::Time deadline,
                          clients::Done<planning::v1::ProposeFromHistoryResponse> done) override;
  void RankChildren(clients::Shared<planning::v1::RankChildrenRequest> request, absl::Time deadline,
                    clients::Done<planning::v1::RankChildrenResponse> done) override;
  void Screen(clients::Shared<planning::v1::ScreenRequest> request, absl::Time deadline,
              clients::Done<planning::v1::ScreenResponse> done) override;
  void ProposeAtOnce(clients::Shared<planning::v1::ProposeAtOnceRequest> request,
                     absl::Time deadline,
                     clients::Done<planning::v1::ProposeAtOnceResponse> done) override;
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
  void Conclude(clients::Shared<conclusion::v1::ConcludeRequest> request, absl::Time deadline,
                clients::Done<conclusion::v1::ConcludeResponse> done) override;

 private:
  // `ask` passes the call on.
  template <typename Response>
  void Try(clients::Done<Response> done, absl::AnyInvocable<void(clients::Done<Response>) &&> ask);

  const orchestrator::Agents real_;
  Dice& dice_;
  const double percent_;
};

}  // namespace galen::in_process

#endif  // TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_AGENTS_H_
