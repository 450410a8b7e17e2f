#ifndef COMMON_REASONER_LLM_FORMS_H_
#define COMMON_REASONER_LLM_FORMS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/reasoner/llm/json.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"

// The form of each answer: its JSON schema with the choices enumerated, the built-in reasoner's
// answer in that form (the draft), and what a model's answer makes of the draft. How far a model
// may go stands here and nowhere else: it orders what the rules offer, it adds words, and it adds a
// few causes to test; it takes nothing away that the rules want tested, it gives no verdict, and it
// cites only what it was shown. All are pure; an answer that breaks its form is INVALID_ARGUMENT
// with a sentence for the model.
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

// Short names under which evidence was shown, to evidence ids.
using Citable = std::map<std::string, std::string>;

// The text, the class among `categories`, and at most 8 keywords.
Form SummarizeForm(const std::set<std::string>& categories, const v1::SummarizeAnswer& draft);
absl::StatusOr<v1::SummarizeAnswer> TakeSummarize(const Json& answer,
                                                  const std::set<std::string>& categories);

// An order of `offered`. The rules' own first cause is always among the answer, so that no text can
// keep it from being tested. Of each cause everything but its place is as offered.
Form HistoryForm(const v1::HistoryAnswer& offered, int max_causes);
absl::StatusOr<v1::HistoryAnswer> TakeHistory(const Json& answer, const v1::HistoryAnswer& offered,
                                              int max_causes);

// An order of the choices that `draft` does not prune. What is pruned stays pruned, what is not is
// searched; the shares of belief stay, and go with the places.
Form RankForm(const v1::RankAnswer& draft);
absl::StatusOr<v1::RankAnswer> TakeRank(const Json& answer, const v1::RankAnswer& draft);

// As history; nothing is verified after this one, so the rules' first stays among the answer too.
Form PresumeForm(const v1::PresumeAnswer& offered, int max_causes);
absl::StatusOr<v1::PresumeAnswer> TakePresume(const Json& answer, const v1::PresumeAnswer& offered,
                                              int max_causes);

// A reason beside those of the verdict, which itself stays as it is.
Form JudgeForm(const Citable& citable);
absl::StatusOr<galen::v1::Verdict> TakeJudge(const Json& answer, const galen::v1::Verdict& draft,
                                             const Citable& citable, absl::string_view model);

// The labels of the draft and at most two more of `choices`; remarks beside those of the draft.
Form CritiqueForm(const v1::CritiqueAnswer& draft, const std::set<std::string>& choices);
absl::StatusOr<v1::CritiqueAnswer> TakeCritique(const Json& answer, const v1::CritiqueAnswer& draft,
                                                const std::set<std::string>& choices,
                                                absl::string_view model);

// Up to three suggestions after those of the draft, each marked as the model's.
Form ExploreForm();
absl::StatusOr<v1::ExploreAnswer> TakeExplore(const Json& answer, const v1::ExploreAnswer& draft,
                                              absl::string_view model);

// Words on the causes for the reasoning graph, with what they cite. The conclusion itself is the
// rules'.
struct Summing {
  std::string text;
  std::vector<std::string> evidence_ids;
};
Form ConcludeForm(const Citable& citable, const v1::ConcludeAnswer& draft);
absl::StatusOr<Summing> TakeConclude(const Json& answer, const Citable& citable);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_FORMS_H_
