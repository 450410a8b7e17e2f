#ifndef COMMON_REASONER_LLM_LLM_REASONER_H_
#define COMMON_REASONER_LLM_LLM_REASONER_H_

#include <memory>
#include <string>

#include "common/incident_history/store.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/llm/asker.h"
#include "common/reasoner/llm/investigator.h"
#include "common/reasoner/reasoner.h"
#include "common/reasoner/retrieve.h"

namespace galen::reasoner::llm {

// The built-in reasoner with an additional language model. The model summarizes, names causes at
// once (Presume), and investigates (investigator.h); the rules alone answer everything else. The
// rules make a draft, and forms.h limits how a model's answer may change it; the draft is used if
// the model is not needed, not allowed, late, or wrong. An answer's `reasoned` records the model's
// part; unset: it was not needed. Thread-safe. Errors: those of the rules; a model never causes
// one.
class LlmReasoner final : public Reasoner {
 public:
  // All must outlive the reasoner. `confirmed`: the site's own history, which the rules use too;
  // always searched by words, also if the knowledge's is searched by the model's vectors; null:
  // none.
  LlmReasoner(const knowledge::Knowledge& knowledge, const Reasoner& rules, Model model,
              const incident_history::Store* confirmed = nullptr);

  // "builtin with MODEL".
  absl::string_view name() const override { return name_; }

  absl::StatusOr<v1::SummarizeAnswer> Summarize(const v1::SummarizeQuestion& question,
                                                absl::Time deadline) const override;
  absl::StatusOr<v1::RankAnswer> RankChildren(const v1::RankQuestion& question,
                                              absl::Time deadline) const override;
  absl::StatusOr<v1::ScreenAnswer> Screen(const v1::ScreenQuestion& question,
                                          absl::Time deadline) const override;
  absl::StatusOr<v1::HistoryAnswer> ProposeFromHistory(const v1::HistoryQuestion& question,
                                                       absl::Time deadline) const override;
  absl::StatusOr<v1::PresumeAnswer> Presume(const v1::PresumeQuestion& question,
                                            absl::Time deadline) const override;
  absl::StatusOr<v1::JudgeAnswer> Judge(const v1::JudgeQuestion& question,
                                        absl::Time deadline) const override;
  absl::StatusOr<v1::CritiqueAnswer> Critique(const v1::CritiqueQuestion& question,
                                              absl::Time deadline) const override;
  absl::StatusOr<v1::ExploreAnswer> Explore(const v1::ExploreQuestion& question,
                                            absl::Time deadline) const override;
  absl::StatusOr<v1::ConcludeAnswer> Conclude(const v1::ConcludeQuestion& question,
                                              absl::Time deadline) const override;
  bool investigates() const override { return true; }
  absl::StatusOr<v1::InvestigateAnswer> Investigate(const v1::InvestigateQuestion& question,
                                                    absl::Time deadline) const override;

 private:
  template <typename Q>
  Asker::Question Begin(absl::string_view name, const Q& question,
                        const galen::v1::EvidenceSet& evidence, Form form) const;
  // Asks the model, and returns the result of `take` on its JSON, otherwise the draft in `answer`;
  // both with the account.
  template <typename Answer, typename Take>
  Answer Taken(const Asker::Question& asked, Answer answer, Take take, absl::Time deadline) const;

  // Causes of past incidents, by the model's vectors if available; the answer's `embedded` has the
  // account.
  absl::StatusOr<v1::HistoryAnswer> Past(const v1::HistoryQuestion& question,
                                         absl::Time deadline) const;

  const knowledge::Knowledge& knowledge_;
  const Reasoner& rules_;
  const incident_history::Store* const confirmed_;
  const Asker asker_;
  const Investigator investigator_;
  const std::unique_ptr<const EmbeddedHistory> history_;  // null: that of the rules
  // Incidents that were learned from diagnoses, searched by words: a tenant's own texts are never
  // embedded.
  const HistoryIndex learned_;
  const std::string name_;
};

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_LLM_REASONER_H_
