#ifndef SERVICES_ORCHESTRATOR_REQUEST_EVIDENCE_H_
#define SERVICES_ORCHESTRATOR_REQUEST_EVIDENCE_H_

#include <memory>

#include "common/base/borrowed_evidence.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/shared_evidence.h"

namespace galen::orchestrator {

// The incident without the text of its logs: summarization alone reads them.
v1::Incident WithoutLogContents(const v1::Incident& incident);

// A request with the evidence of the moment.
template <typename Request>
struct RequestWithEvidence {
  explicit RequestWithEvidence(const State& state) : shared(state), request(shared.evidence()) {
    *request->mutable_incident() = WithoutLogContents(state.incident);
    // Only requests that a model may answer have this field.
    if constexpr (requires { request->mutable_spending(); }) {
      *request->mutable_spending() = state.spending;
    }
  }
  const SharedEvidence shared;
  BorrowedEvidence<Request> request;
};

template <typename Request>
std::shared_ptr<Request> WithEvidence(const State& state) {
  auto asked = std::make_shared<RequestWithEvidence<Request>>(state);
  return std::shared_ptr<Request>(asked, &*asked->request);
}

// The hypotheses that have a verdict.
template <typename Request>
void AddJudged(const State& state, Request& request) {
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    if (tracked.hypothesis.has_verdict()) *request.add_judged() = tracked.hypothesis;
  }
}

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_REQUEST_EVIDENCE_H_
