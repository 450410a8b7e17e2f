#include "services/orchestrator/calls.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/event_builders.h"
#include "services/orchestrator/investigation.h"
#include "services/orchestrator/request_builders.h"

namespace galen::orchestrator {
namespace {

Outcome Failure(const Effect& effect, const RetryLimits& retry_limits, absl::Status error) {
  return [effect, retry_limits, error = std::move(error)](const State& state) {
    return std::optional(CallFailedEvent(state, effect, error, retry_limits));
  };
}

// A callback that hands `to_event(response)`, or the error, to the sink.
template <typename Response, typename ToEvent>
clients::Done<Response> Answer(const Effect& effect, const RetryLimits& retry_limits,
                               OutcomeSink sink, ToEvent to_event) {
  return [effect, retry_limits, sink = std::move(sink),
          to_event](absl::StatusOr<Response> response) mutable {
    if (!response.ok()) {
      sink(Failure(effect, retry_limits, response.status()), true);
      return;
    }
    sink(
        [response = *std::move(response), to_event](const State& state) mutable {
          return std::optional(to_event(state, std::move(response)));
        },
        true);
  };
}

// Summarize and ResolveNodes run side by side; their answers make one event.
class SummarizeCall {
 public:
  SummarizeCall(Effect effect, const RetryLimits& retry_limits, OutcomeSink sink)
      : effect_(std::move(effect)), patience_(retry_limits), sink_(std::move(sink)) {}

  void OnSummary(absl::StatusOr<summarization::v1::SummarizeResponse> summary) {
    MutexLock lock(mu_);
    summary_ = std::move(summary);
    FinishWhenBoth();
  }
  void OnNodes(absl::StatusOr<execution::v1::ResolveNodesResponse> nodes) {
    MutexLock lock(mu_);
    nodes_ = std::move(nodes);
    FinishWhenBoth();
  }

 private:
  void FinishWhenBoth() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!summary_.has_value() || !nodes_.has_value()) return;
    if (!summary_->ok() || !nodes_->ok()) {
      sink_(Failure(effect_, patience_, summary_->ok() ? nodes_->status() : summary_->status()),
            true);
      return;
    }
    sink_(
        [summary = **std::move(summary_), nodes = **std::move(nodes_)](const State&) mutable {
          return std::optional(SummarizedEvent(std::move(summary), std::move(nodes)));
        },
        true);
  }

  const Effect effect_;
  const RetryLimits patience_;
  const OutcomeSink sink_;
  Mutex mu_;
  std::optional<absl::StatusOr<summarization::v1::SummarizeResponse>> summary_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::StatusOr<execution::v1::ResolveNodesResponse>> nodes_ ABSL_GUARDED_BY(mu_);
};

void StartSummarize(const Agents& agents, const State& state, const Effect& effect,
                    absl::Time deadline, const RetryLimits& retry_limits, OutcomeSink sink) {
  auto call = std::make_shared<SummarizeCall>(effect, retry_limits, std::move(sink));
  agents.summarization.Summarize(
      SummarizeRequestOf(state), deadline,
      [call](absl::StatusOr<summarization::v1::SummarizeResponse> summary) {
        call->OnSummary(std::move(summary));
      });
  agents.execution.ResolveNodes(ResolveNodesRequestOf(state), deadline,
                                [call](absl::StatusOr<execution::v1::ResolveNodesResponse> nodes) {
                                  call->OnNodes(std::move(nodes));
                                });
}

// How a stream of results ended; one that ends well with results missing is a failure too.
Outcome ChecksEnded(const Effect& effect, const RetryLimits& retry_limits, absl::Status status) {
  return [effect, retry_limits,
          status = std::move(status)](const State& state) -> std::optional<v1::DiagnosisEvent> {
    if (!status.ok()) return CallFailedEvent(state, effect, status, retry_limits);
    const execution::v1::RunChecksRequest missing = RunChecksRequestOf(state, effect);
    if (missing.nodes().empty()) return std::nullopt;
    return CallFailedEvent(state, effect,
                           absl::InternalError(absl::StrCat(
                               "execution ended without all results of ", missing.nodes_size(),
                               " nodes, the first of them ", missing.nodes(0))),
                           retry_limits);
  };
}

clients::Cancel StartChecks(const Agents& agents, const State& state, const Effect& effect,
                            absl::Time deadline, const RetryLimits& retry_limits,
                            OutcomeSink sink) {
  return agents.execution.RunChecks(
      RunChecksRequestOf(state, effect), deadline,
      [effect, sink](v1::CheckResult result) {
        sink([effect, result = std::move(result)](
                 const State& now) mutable { return ResultEvent(now, effect, std::move(result)); },
             false);
      },
      [effect, retry_limits, sink](absl::Status status) {
        sink(ChecksEnded(effect, retry_limits, std::move(status)), true);
      });
}

clients::Cancel StartTold(const Agents& agents, const State& state, const Effect& effect,
                          absl::Time deadline, const RetryLimits& retry_limits, OutcomeSink sink) {
  return agents.execution.RunChecks(
      SuppliedRequestOf(state), deadline,
      [sink](v1::CheckResult result) {
        sink([result = std::move(result)](
                 const State& now) mutable { return SuppliedResultEvent(now, std::move(result)); },
             false);
      },
      [effect, retry_limits, sink](absl::Status status) {
        if (!status.ok()) {
          sink(Failure(effect, retry_limits, std::move(status)), true);
          return;
        }
        sink(
            [effect](const State&) {
              v1::DiagnosisEvent event;
              event.mutable_checks_finished()->set_batch(effect.id);
              return std::optional(std::move(event));
            },
            true);
      });
}

// Streams the results as they come, then the end of the call.
clients::Cancel StartTest(const Agents& agents, const State& state, const Effect& effect,
                          absl::Time deadline, const RetryLimits& retry_limits, OutcomeSink sink) {
  return agents.execution.RunChecks(
      TestRequestOf(state, effect), deadline,
      [effect, sink](v1::CheckResult result) {
        sink([effect, result = std::move(result)](
                 const State& now) mutable { return ResultEvent(now, effect, std::move(result)); },
             false);
      },
      [effect, retry_limits, sink](absl::Status status) {
        sink(
            [effect, retry_limits,
             status = std::move(status)](const State& now) -> std::optional<v1::DiagnosisEvent> {
              if (!status.ok()) return CallFailedEvent(now, effect, status, retry_limits);
              if (TestRequestOf(now, effect).nodes().empty()) return std::nullopt;
              return CallFailedEvent(now, effect,
                                     absl::InternalError("execution ended without all results"),
                                     retry_limits);
            },
            true);
      });
}

}  // namespace

clients::Cancel StartCall(const Agents& agents, const State& state, const Effect& effect,
                          absl::Time deadline, const RetryLimits& retry_limits, OutcomeSink sink) {
  switch (effect.kind) {
    case Effect::Kind::kSummarize:
      StartSummarize(agents, state, effect, deadline, retry_limits, std::move(sink));
      break;
    case Effect::Kind::kChecks:
      return StartChecks(agents, state, effect, deadline, retry_limits, std::move(sink));
    case Effect::Kind::kSupplied:
      return StartTold(agents, state, effect, deadline, retry_limits, std::move(sink));
    case Effect::Kind::kTest:
      return StartTest(agents, state, effect, deadline, retry_limits, std::move(sink));
    case Effect::Kind::kHistory:
      agents.planning.ProposeFromHistory(
          HistoryRequestOf(state), deadline,
          Answer<planning::v1::ProposeFromHistoryResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return ProposedEvent(std::move(response)); }));
      break;
    case Effect::Kind::kAtOnce:
      agents.planning.ProposeAtOnce(
          AtOnceRequestOf(state), deadline,
          Answer<planning::v1::ProposeAtOnceResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return AtOnceEvent(std::move(response)); }));
      break;
    case Effect::Kind::kListCauses:
      agents.planning.ListCauses(
          planning::v1::ListCausesRequest(), deadline,
          Answer<planning::v1::ListCausesResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return CausesListedEvent(std::move(response)); }));
      break;
    case Effect::Kind::kScreen:
      agents.planning.Screen(
          ScreenRequestOf(state), deadline,
          Answer<planning::v1::ScreenResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return ScreenedEvent(std::move(response)); }));
      break;
    case Effect::Kind::kRank:
      agents.planning.RankChildren(
          RankRequestOf(state, effect), deadline,
          Answer<planning::v1::RankChildrenResponse>(
              effect, retry_limits, std::move(sink), [effect](const State&, auto response) {
                return RankedEvent(effect, std::move(response));
              }));
      break;
    case Effect::Kind::kJudge:
      agents.reflection.Judge(
          JudgeRequestOf(state, effect), deadline,
          Answer<reflection::v1::JudgeResponse>(effect, retry_limits, std::move(sink),
                                                [effect](const State&, auto response) {
                                                  return VerdictsEvent(effect, std::move(response));
                                                }));
      break;
    case Effect::Kind::kCritique:
      agents.reflection.Critique(
          CritiqueRequestOf(state), deadline,
          Answer<reflection::v1::CritiqueResponse>(
              effect, retry_limits, std::move(sink), [](const State& now, auto response) {
                return CritiquedEvent(now, std::move(response));
              }));
      break;
    case Effect::Kind::kExplore:
      agents.planning.Explore(
          ExploreRequestOf(state), deadline,
          Answer<planning::v1::ExploreResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return ExploredEvent(std::move(response)); }));
      break;
    case Effect::Kind::kConclude:
      agents.conclusion.Conclude(
          ConcludeRequestOf(state), deadline,
          Answer<conclusion::v1::ConcludeResponse>(
              effect, retry_limits, std::move(sink),
              [](const State&, auto response) { return ConcludedEvent(std::move(response)); }));
      break;
    case Effect::Kind::kInvestigate:
      agents.reflection.Investigate(
          InvestigateRequestOf(state), deadline,
          Answer<reflection::v1::InvestigateResponse>(
              effect, retry_limits, std::move(sink), [](const State& now, auto response) {
                return InvestigatedEvent(now, std::move(response));
              }));
      break;
    case Effect::Kind::kLook:
      agents.summarization.Look(
          LookRequestOf(state), deadline,
          Answer<summarization::v1::LookResponse>(effect, retry_limits, std::move(sink),
                                                  [](const State& now, auto response) {
                                                    return LookedEvent(now, std::move(response));
                                                  }));
      break;
    case Effect::Kind::kConsult:
      agents.planning.Consult(
          ConsultRequestOf(state), deadline,
          Answer<planning::v1::ConsultResponse>(effect, retry_limits, std::move(sink),
                                                [](const State& now, auto response) {
                                                  return ConsultedEvent(now, std::move(response));
                                                }));
      break;
  }
  return clients::NoCancel();
}

}  // namespace galen::orchestrator
