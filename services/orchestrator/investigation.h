#ifndef SERVICES_ORCHESTRATOR_INVESTIGATION_H_
#define SERVICES_ORCHESTRATOR_INVESTIGATION_H_

#include <vector>

#include "galen/planning/v1/planning.pb.h"
#include "galen/reflection/v1/reflection.pb.h"
#include "galen/summarization/v1/summarization.pb.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// The part of a search in which a language model investigates: reflection has it take one turn at a
// time; what it asks to see is read by summarization, looked up by planning or run by execution;
// what it confirms is tested as every hypothesis is. A verdict that does not stand, or that the
// built-in reasoner rejects, goes back to the model once. Every turn and every answer is an event,
// so that a diagnosis that was interrupted asks nothing twice. Done where reflection has no model.
// Pure.
Decision Investigate(const State& state);

// Turns of a round at most, whatever reflection says.
inline constexpr int kMostTurns = 12;
// Most questions to the model in a round, failed ones included.
inline constexpr int kMostAsked = kMostTurns + 4;
// Most calls of one turn.
inline constexpr int kMostCallsOfTurn = 8;

// The requests to the agents.
clients::Shared<reflection::v1::InvestigateRequest> InvestigateRequestOf(const State& state);
clients::Shared<summarization::v1::LookRequest> LookRequestOf(const State& state);
clients::Shared<planning::v1::ConsultRequest> ConsultRequestOf(const State& state);

// The agents' answers, as events without time and sequence.
v1::DiagnosisEvent InvestigatedEvent(const State& state,
                                     reflection::v1::InvestigateResponse response);
v1::DiagnosisEvent LookedEvent(const State& state, summarization::v1::LookResponse response);
v1::DiagnosisEvent ConsultedEvent(const State& state, planning::v1::ConsultResponse response);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_INVESTIGATION_H_
