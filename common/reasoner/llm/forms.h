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
// answer in that form (the draft), and what a model's answer makes of the draft. All are pure; an
// answer that breaks its form is INVALID_ARGUMENT with a sentence for the model. The form of an
// investigation stands in turn_form.h.
namespace galen::reasoner::llm {

struct Form {
  Json schema;
  Json draft;
};

// What a model thought on the way: parts of the Diagram of Thought. Each may be empty.
struct Thoughts {
  std::string proposition;
  std::string critique;
  std::string refinement;
};
absl::StatusOr<Thoughts> ThoughtsOf(const Json& answer);
// The schema of an answer: the thoughts, which come first so that they are thought first, then
// these members.
Json WithThoughts(Json properties);
Json NoThoughts();

// The text, the class among `categories`, and at most 8 keywords.
Form SummarizeForm(const std::set<std::string>& categories, const v1::SummarizeAnswer& draft);
absl::StatusOr<v1::SummarizeAnswer> TakeSummarize(const Json& answer,
                                                  const std::set<std::string>& categories);

// An order of `offered`. The rules' own first cause is always among the answer, so that no text can
// take it away. Of each cause everything but its place is as offered.
Form PresumeForm(const v1::PresumeAnswer& offered, int max_causes);
absl::StatusOr<v1::PresumeAnswer> TakePresume(const Json& answer, const v1::PresumeAnswer& offered,
                                              int max_causes);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_FORMS_H_
