#ifndef COMMON_REASONER_LLM_FORMS_H_
#define COMMON_REASONER_LLM_FORMS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/reasoner/llm/json.h"
#include "galen/reasoner/v1/reasoner.pb.h"

// The form of an answer: its JSON schema with the choices enumerated, the built-in reasoner's
// answer in that form (the draft), and the result of a model's answer and the draft. All are pure;
// an answer that violates its form is INVALID_ARGUMENT with a sentence for the model. The form of
// an investigation is in turn_form.h.
namespace galen::reasoner::llm {

struct Form {
  Json schema;
  Json draft;
};

// Thoughts of a model: parts of the Diagram of Thought. Each may be empty.
struct Thoughts {
  std::string proposition;
  std::string critique;
  std::string refinement;
};
absl::StatusOr<Thoughts> ThoughtsOf(const Json& answer);
// The schema of an answer: first the thoughts, so that the model writes them first, then these
// members.
Json WithThoughts(Json properties);
Json NoThoughts();

// An order of `offered`. The answer always contains the rules' own first cause, so that no text can
// remove it. Only the position of a cause may differ from `offered`.
Form PresumeForm(const v1::PresumeAnswer& offered, int max_causes);
absl::StatusOr<v1::PresumeAnswer> TakePresume(const Json& answer, const v1::PresumeAnswer& offered,
                                              int max_causes);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_FORMS_H_
