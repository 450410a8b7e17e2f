#ifndef SERVICES_ORCHESTRATOR_EVENT_BUILDERS_H_
#define SERVICES_ORCHESTRATOR_EVENT_BUILDERS_H_

#include <optional>

#include "absl/status/status.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/planning/v1/planning.pb.h"
#include "galen/reflection/v1/reflection.pb.h"
#include "galen/summarization/v1/summarization.pb.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"
#include "services/orchestrator/retry.h"

namespace galen::orchestrator {

// An agent's answer as an event without time and sequence. Anything outside the question is
// dropped, so that an agent that errs, or lies, cannot put it into the log. All functions are pure.

v1::DiagnosisEvent SummarizedEvent(summarization::v1::SummarizeResponse summary,
                                   execution::v1::ResolveNodesResponse nodes);
// At most two hypotheses, of distinct labels.
v1::DiagnosisEvent ProposedEvent(planning::v1::ProposeFromHistoryResponse response);
v1::DiagnosisEvent AtOnceEvent(planning::v1::ProposeAtOnceResponse response);
// Distinct labels.
v1::DiagnosisEvent CausesListedEvent(planning::v1::ListCausesResponse response);
v1::DiagnosisEvent ScreenedEvent(planning::v1::ScreenResponse response);
v1::DiagnosisEvent RankedEvent(const Effect& effect, planning::v1::RankChildrenResponse response);
// A label without an answer gets an INCONCLUSIVE verdict that says so.
v1::DiagnosisEvent VerdictsEvent(const Effect& effect, reflection::v1::JudgeResponse response);
// Labels that were judged already are not added again.
v1::DiagnosisEvent CritiquedEvent(const State& state, reflection::v1::CritiqueResponse response);
v1::DiagnosisEvent ExploredEvent(planning::v1::ExploreResponse response);
v1::DiagnosisEvent ConcludedEvent(conclusion::v1::ConcludeResponse response);

// A check result, when `effect` asked for it and it is still missing; it gets a new id.
std::optional<v1::DiagnosisEvent> ResultEvent(const State& state, const Effect& effect,
                                              v1::CheckResult result);

// A result over what came with the last answer, when it says something.
std::optional<v1::DiagnosisEvent> SuppliedResultEvent(const State& state, v1::CheckResult result);

// Records one more failure of the call, final or not.
v1::DiagnosisEvent CallFailedEvent(const State& state, const Effect& effect,
                                   const absl::Status& error, const RetryLimits& retry_limits);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_EVENT_BUILDERS_H_
