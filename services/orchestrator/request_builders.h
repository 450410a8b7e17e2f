#ifndef SERVICES_ORCHESTRATOR_REQUEST_BUILDERS_H_
#define SERVICES_ORCHESTRATOR_REQUEST_BUILDERS_H_

#include "common/clients/call.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/planning/v1/planning.pb.h"
#include "galen/reflection/v1/reflection.pb.h"
#include "galen/summarization/v1/summarization.pb.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// The requests to the agents for a state. Most requests hold all that is known: the summary, the
// check results by id, the feedback, and nothing of a branch (shared_evidence.h). All are pure.

summarization::v1::SummarizeRequest SummarizeRequestOf(const State& state);
execution::v1::ResolveNodesRequest ResolveNodesRequestOf(const State& state);
clients::Shared<planning::v1::ProposeFromHistoryRequest> HistoryRequestOf(const State& state);
clients::Shared<planning::v1::ProposeAtOnceRequest> AtOnceRequestOf(const State& state);
// The checks of `effect` on those nodes that miss one of them.
execution::v1::RunChecksRequest RunChecksRequestOf(const State& state, const Effect& effect);
// For an answer with a bundle: runs every check on it.
execution::v1::RunChecksRequest SuppliedRequestOf(const State& state);
clients::Shared<planning::v1::ScreenRequest> ScreenRequestOf(const State& state);
clients::Shared<planning::v1::RankChildrenRequest> RankRequestOf(const State& state,
                                                                 const Effect& effect);
clients::Shared<reflection::v1::JudgeRequest> JudgeRequestOf(const State& state,
                                                             const Effect& effect);
// The hypotheses that were judged, and those of history that wait for it.
clients::Shared<reflection::v1::CritiqueRequest> CritiqueRequestOf(const State& state);
clients::Shared<planning::v1::ExploreRequest> ExploreRequestOf(const State& state);
clients::Shared<conclusion::v1::ConcludeRequest> ConcludeRequestOf(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_REQUEST_BUILDERS_H_
