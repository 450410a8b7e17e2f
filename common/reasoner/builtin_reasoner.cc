#include "common/reasoner/builtin_reasoner.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/reasoner/conclude.h"
#include "common/reasoner/critique.h"
#include "common/reasoner/explore.h"
#include "common/reasoner/judge.h"
#include "common/reasoner/presume.h"
#include "common/reasoner/rank.h"
#include "common/reasoner/screen.h"
#include "common/reasoner/summarize.h"

namespace galen::reasoner {
namespace {

// Number of causes of past incidents used by Presume().
constexpr int kSimilarCauses = 10;

std::vector<const knowledge::v1::PastIncident*> Incidents(const knowledge::Knowledge& knowledge) {
  std::vector<const knowledge::v1::PastIncident*> incidents;
  for (const auto& incident : knowledge.base().incidents()) incidents.push_back(&incident);
  return incidents;
}

absl::Status InTime(absl::string_view question, absl::Time deadline) {
  if (SteadyNow() < ToSteady(deadline)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(question, ": the deadline has passed"));
}

}  // namespace

// The case of one question.
class BuiltinReasoner::Asked {
 public:
  template <typename Question>
  Asked(const BuiltinReasoner& reasoner, const Question& question)
      : reasoner_(reasoner),
        view_(question.evidence()),
        alike_(reasoner.leaves_.Of(WordsOf(question.incident(), question.evidence()),
                                   MessagesOf(question.evidence()))) {}

  Case the_case() const {
    return {reasoner_.knowledge_, reasoner_.rules_, reasoner_.rates_, view_, *alike_};
  }

 private:
  const BuiltinReasoner& reasoner_;
  const EvidenceView view_;
  const std::shared_ptr<const Likeness> alike_;
};

BuiltinReasoner::BuiltinReasoner(const knowledge::Knowledge& knowledge,
                                 const incident_history::Store* confirmed)
    : knowledge_(knowledge),
      rules_(knowledge),
      rates_(knowledge),
      history_(Incidents(knowledge), confirmed),
      leaves_(knowledge) {}

absl::StatusOr<v1::SummarizeAnswer> BuiltinReasoner::Summarize(
    const v1::SummarizeQuestion& question, absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("summarize", deadline));
  return reasoner::Summarize(question);
}

absl::StatusOr<v1::RankAnswer> BuiltinReasoner::RankChildren(const v1::RankQuestion& question,
                                                             absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("rank children", deadline));
  const Asked asked(*this, question);
  return Rank(asked.the_case(), question);
}

absl::StatusOr<v1::ScreenAnswer> BuiltinReasoner::Screen(const v1::ScreenQuestion& question,
                                                         absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("screen", deadline));
  const Asked asked(*this, question);
  return reasoner::Screen(asked.the_case(), question);
}

absl::StatusOr<v1::HistoryAnswer> BuiltinReasoner::ProposeFromHistory(
    const v1::HistoryQuestion& question, absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("propose from history", deadline));
  return ProposeCauses(knowledge_, history_, question);
}

absl::StatusOr<v1::PresumeAnswer> BuiltinReasoner::Presume(const v1::PresumeQuestion& question,
                                                           absl::Time deadline) const {
  BorrowedEvidence<v1::HistoryQuestion> history(question.evidence());
  *history->mutable_incident() = question.incident();
  history->set_max_causes(kSimilarCauses);
  history->set_tenant(question.tenant());
  GALEN_ASSIGN_OR_RETURN(const v1::HistoryAnswer similar, ProposeFromHistory(*history, deadline));
  const Asked asked(*this, question);
  return reasoner::Presume(asked.the_case(), question, similar);
}

absl::StatusOr<v1::JudgeAnswer> BuiltinReasoner::Judge(const v1::JudgeQuestion& question,
                                                       absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("judge", deadline));
  std::vector<const knowledge::v1::Label*> leaves;
  for (const std::string& label : question.labels()) {
    leaves.push_back(knowledge_.FindLabel(label));
    if (leaves.back() == nullptr || !knowledge::IsLeaf(*leaves.back())) {
      return absl::InvalidArgumentError(
          absl::StrCat(label, ": no leaf of the taxonomy has this label"));
    }
  }
  const Asked asked(*this, question);
  const Beliefs beliefs(asked.the_case());
  v1::JudgeAnswer answer;
  for (const knowledge::v1::Label* leaf : leaves) {
    *answer.add_verdicts() = reasoner::Judge(asked.the_case(), beliefs, *leaf);
  }
  return answer;
}

absl::StatusOr<v1::CritiqueAnswer> BuiltinReasoner::Critique(const v1::CritiqueQuestion& question,
                                                             absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("critique", deadline));
  const Asked asked(*this, question);
  return reasoner::Critique(asked.the_case(), question);
}

absl::StatusOr<v1::ExploreAnswer> BuiltinReasoner::Explore(const v1::ExploreQuestion& question,
                                                           absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("explore", deadline));
  const Asked asked(*this, question);
  return reasoner::Explore(asked.the_case(), question);
}

absl::StatusOr<v1::ConcludeAnswer> BuiltinReasoner::Conclude(const v1::ConcludeQuestion& question,
                                                             absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("conclude", deadline));
  const Asked asked(*this, question);
  return reasoner::Conclude(asked.the_case(), question);
}

}  // namespace galen::reasoner
