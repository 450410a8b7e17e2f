#ifndef SERVICES_REFLECTION_REFLECTOR_H_
#define SERVICES_REFLECTION_REFLECTOR_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/reasoner.h"
#include "galen/reflection/v1/reflection.pb.h"

namespace galen::reflection {

// Weighs evidence, and accepts no verdict that does not cite it. Thread-safe. Errors of all
// methods: INVALID_ARGUMENT: a label that is not a leaf; FAILED_PRECONDITION: the reasoner answers
// about another label, or cites evidence that does not exist; the reasoner's own.
class Reflector {
 public:
  // Both must outlive the reflector.
  Reflector(const knowledge::Knowledge& knowledge, const reasoner::Reasoner& reasoner)
      : knowledge_(knowledge), reasoner_(reasoner) {}

  // A CONFIRMED or REJECTED verdict without cited evidence becomes INCONCLUSIVE and says so.
  absl::StatusOr<v1::JudgeResponse> Judge(const v1::JudgeRequest& request,
                                          absl::Time deadline) const;
  absl::StatusOr<v1::CritiqueResponse> Critique(const v1::CritiqueRequest& request,
                                                absl::Time deadline) const;
  // One turn of the language model. FAILED_PRECONDITION: there is none.
  absl::StatusOr<v1::InvestigateResponse> Investigate(const v1::InvestigateRequest& request,
                                                      absl::Time deadline) const;

 private:
  const knowledge::Knowledge& knowledge_;
  const reasoner::Reasoner& reasoner_;
};

}  // namespace galen::reflection

#endif  // SERVICES_REFLECTION_REFLECTOR_H_
