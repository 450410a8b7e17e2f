#include "tests/integration/in_process/unsteady_agents.h"

#include <memory>
#include <utility>

namespace galen::in_process {
namespace {

absl::Status NotReached() { return absl::UnavailableError("the agent was not reached"); }
absl::Status Lost() { return absl::UnavailableError("the agent's answer was lost"); }

}  // namespace

template <typename Response>
void UnsteadyAgents::Try(clients::Done<Response> done,
                         absl::AnyInvocable<void(clients::Done<Response>) &&> ask) {
  if (dice_.Falls(percent_)) return std::move(done)(NotReached());
  if (dice_.Falls(percent_)) {
    std::move(ask)([done = std::move(done)](const absl::StatusOr<Response>&) mutable {
      std::move(done)(Lost());
    });
  } else if (dice_.Falls(percent_ / 5)) {
    std::move(ask)([](const absl::StatusOr<Response>&) {});
  } else {
    std::move(ask)(std::move(done));
  }
}

void UnsteadyAgents::Summarize(const summarization::v1::SummarizeRequest& request,
                               absl::Time deadline,
                               clients::Done<summarization::v1::SummarizeResponse> done) {
  Try<summarization::v1::SummarizeResponse>(std::move(done), [&](auto passed) {
    real_.summarization.Summarize(request, deadline, std::move(passed));
  });
}

void UnsteadyAgents::ProposeFromHistory(
    clients::Shared<planning::v1::ProposeFromHistoryRequest> request, absl::Time deadline,
    clients::Done<planning::v1::ProposeFromHistoryResponse> done) {
  Try<planning::v1::ProposeFromHistoryResponse>(std::move(done), [&](auto passed) {
    real_.planning.ProposeFromHistory(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::RankChildren(clients::Shared<planning::v1::RankChildrenRequest> request,
                                  absl::Time deadline,
                                  clients::Done<planning::v1::RankChildrenResponse> done) {
  Try<planning::v1::RankChildrenResponse>(std::move(done), [&](auto passed) {
    real_.planning.RankChildren(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::Screen(clients::Shared<planning::v1::ScreenRequest> request,
                            absl::Time deadline, clients::Done<planning::v1::ScreenResponse> done) {
  Try<planning::v1::ScreenResponse>(std::move(done), [&](auto passed) {
    real_.planning.Screen(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::ProposeAtOnce(clients::Shared<planning::v1::ProposeAtOnceRequest> request,
                                   absl::Time deadline,
                                   clients::Done<planning::v1::ProposeAtOnceResponse> done) {
  Try<planning::v1::ProposeAtOnceResponse>(std::move(done), [&](auto passed) {
    real_.planning.ProposeAtOnce(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::ListCauses(const planning::v1::ListCausesRequest& request, absl::Time deadline,
                                clients::Done<planning::v1::ListCausesResponse> done) {
  Try<planning::v1::ListCausesResponse>(std::move(done), [&](auto passed) {
    real_.planning.ListCauses(request, deadline, std::move(passed));
  });
}

void UnsteadyAgents::Explore(clients::Shared<planning::v1::ExploreRequest> request,
                             absl::Time deadline,
                             clients::Done<planning::v1::ExploreResponse> done) {
  Try<planning::v1::ExploreResponse>(std::move(done), [&](auto passed) {
    real_.planning.Explore(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::ResolveNodes(const execution::v1::ResolveNodesRequest& request,
                                  absl::Time deadline,
                                  clients::Done<execution::v1::ResolveNodesResponse> done) {
  Try<execution::v1::ResolveNodesResponse>(std::move(done), [&](auto passed) {
    real_.execution.ResolveNodes(request, deadline, std::move(passed));
  });
}

clients::Cancel UnsteadyAgents::RunChecks(const execution::v1::RunChecksRequest& request,
                                          absl::Time deadline,
                                          clients::OnMessage<v1::CheckResult> on_result,
                                          absl::AnyInvocable<void(absl::Status) &&> done) {
  if (dice_.Falls(percent_)) {
    std::move(done)(NotReached());
    return clients::NoCancel();
  }
  if (!dice_.Falls(percent_)) {
    return real_.execution.RunChecks(request, deadline, std::move(on_result), std::move(done));
  }
  // Some results come, the rest is lost.
  return real_.execution.RunChecks(
      request, deadline,
      [left = dice_.Pick(4), tell = std::move(on_result)](v1::CheckResult result) mutable {
        if (left-- > 0) tell(std::move(result));
      },
      [done = std::move(done)](const absl::Status&) mutable { std::move(done)(Lost()); });
}

void UnsteadyAgents::Judge(clients::Shared<reflection::v1::JudgeRequest> request,
                           absl::Time deadline, clients::Done<reflection::v1::JudgeResponse> done) {
  Try<reflection::v1::JudgeResponse>(std::move(done), [&](auto passed) {
    real_.reflection.Judge(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::Critique(clients::Shared<reflection::v1::CritiqueRequest> request,
                              absl::Time deadline,
                              clients::Done<reflection::v1::CritiqueResponse> done) {
  Try<reflection::v1::CritiqueResponse>(std::move(done), [&](auto passed) {
    real_.reflection.Critique(std::move(request), deadline, std::move(passed));
  });
}

void UnsteadyAgents::Conclude(clients::Shared<conclusion::v1::ConcludeRequest> request,
                              absl::Time deadline,
                              clients::Done<conclusion::v1::ConcludeResponse> done) {
  Try<conclusion::v1::ConcludeResponse>(std::move(done), [&](auto passed) {
    real_.conclusion.Conclude(std::move(request), deadline, std::move(passed));
  });
}

}  // namespace galen::in_process
