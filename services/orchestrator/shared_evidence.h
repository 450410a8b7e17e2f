#ifndef SERVICES_ORCHESTRATOR_SHARED_EVIDENCE_H_
#define SERVICES_ORCHESTRATOR_SHARED_EVIDENCE_H_

#include <memory>
#include <vector>

#include "galen/v1/evidence.pb.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// All that a diagnosis knows at one moment, as one message: the summary and the check results, seen
// and not copied, and the feedback. It stays as it is while the diagnosis goes on. Immutable, so
// thread-safe.
class SharedEvidence {
 public:
  explicit SharedEvidence(const State& state);
  SharedEvidence(const SharedEvidence&) = delete;
  SharedEvidence& operator=(const SharedEvidence&) = delete;
  ~SharedEvidence();

  // Its parts are shared with others: nobody may write to them.
  const v1::EvidenceSet& evidence() const { return evidence_; }

 private:
  std::shared_ptr<const v1::Summary> summary_;
  std::vector<std::shared_ptr<const v1::CheckResult>> results_;
  v1::EvidenceSet evidence_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SHARED_EVIDENCE_H_
