#ifndef COMMON_REASONER_BUILTIN_REASONER_H_
#define COMMON_REASONER_BUILTIN_REASONER_H_

#include "common/knowledge/knowledge.h"
#include "common/reasoner/likeness.h"
#include "common/reasoner/rates.h"
#include "common/reasoner/reasoner.h"
#include "common/reasoner/retrieve.h"
#include "common/reasoner/rule_index.h"

namespace galen::reasoner {

// Answers from declared knowledge alone: deterministic, offline, without a model. The same question
// gives the same answer byte for byte. Each answer is a pure function in a separate file
// (judge.h, rank.h, retrieve.h, presume.h, critique.h, explore.h, conclude.h, summarize.h); this
// class holds the indexes. Thread-safe. Errors: INVALID_ARGUMENT for a label that the knowledge
// does not have, DEADLINE_EXCEEDED when the deadline has passed on entry.
class BuiltinReasoner final : public Reasoner {
 public:
  // Indexes rules and history. `knowledge` must outlive the reasoner, and so must `confirmed`: past
  // incidents that a site has confirmed, in addition to those of the knowledge; null: none.
  explicit BuiltinReasoner(const knowledge::Knowledge& knowledge,
                           const incident_history::Store* confirmed = nullptr);

  absl::string_view name() const override { return "builtin"; }

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

 private:
  class Asked;

  const knowledge::Knowledge& knowledge_;
  const RuleIndex rules_;
  const Rates rates_;
  const HistoryIndex history_;
  const LikenessIndex leaves_;
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_BUILTIN_REASONER_H_
