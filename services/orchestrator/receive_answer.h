#ifndef SERVICES_ORCHESTRATOR_RECEIVE_ANSWER_H_
#define SERVICES_ORCHESTRATOR_RECEIVE_ANSWER_H_

#include <string>

#include "galen/v1/diagnosis_event.pb.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// Takes an answer of the customer into the state. A confirmed cause is noted, and nothing else
// happens. Anything else starts another round, in which nothing older than the answer refutes:
// every verdict is open again, and what was seen of live machines is kept only as what was seen
// before. Pure.
void ReceiveAnswer(State& state, const v1::FeedbackReceived& feedback);

// Puts together what the sources say of one check on one node, into state.evidence. Pure.
void PutTogether(State& state, const std::string& id);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RECEIVE_ANSWER_H_
