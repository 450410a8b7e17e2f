#include "common/reasoner/builtin_reasoner.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/lent_evidence.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/reasoner/conclude.h"
#include "common/reasoner/critique.h"
#include "common/reasoner/explore.h"
#include "common/reasoner/presume.h"
#include "common/reasoner/rank.h"
#include "common/reasoner/screen.h"
#include "common/reasoner/summarize.h"

namespace galen::reasoner {
namespace {

// Causes of past incidents that a presumption weighs.
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

BuiltinReasoner::BuiltinReasoner(const knowledge::Knowledge& knowledge,
                                 const retrieval::Store* confirmed)
    : knowledge_(knowledge),
      rules_(knowledge),
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
  const EvidenceView view(question.evidence());
  return Rank({knowledge_, rules_, view}, question);
}

absl::StatusOr<v1::ScreenAnswer> BuiltinReasoner::Screen(const v1::ScreenQuestion& question,
                                                         absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("screen", deadline));
  const EvidenceView view(question.evidence());
  const std::vector<std::string> alike =
      leaves_.Nearest(QueryText(question.incident(), question.evidence()), kMostAlike);
  return reasoner::Screen({knowledge_, rules_, view}, question, alike);
}

absl::StatusOr<v1::HistoryAnswer> BuiltinReasoner::ProposeFromHistory(
    const v1::HistoryQuestion& question, absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("propose from history", deadline));
  return ProposeCauses(knowledge_, history_, question);
}

absl::StatusOr<v1::PresumeAnswer> BuiltinReasoner::Presume(const v1::PresumeQuestion& question,
                                                           absl::Time deadline) const {
  LentEvidence<v1::HistoryQuestion> history(question.evidence());
  *history->mutable_incident() = question.incident();
  history->set_max_causes(kSimilarCauses);
  GALEN_ASSIGN_OR_RETURN(const v1::HistoryAnswer similar, ProposeFromHistory(*history, deadline));
  const EvidenceView view(question.evidence());
  return reasoner::Presume({knowledge_, rules_, view}, question, similar);
}

absl::StatusOr<galen::v1::Verdict> BuiltinReasoner::Judge(const v1::JudgeQuestion& question,
                                                          absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("judge", deadline));
  const knowledge::v1::Label* leaf = knowledge_.FindLabel(question.label());
  if (leaf == nullptr || !knowledge::IsLeaf(*leaf)) {
    return absl::InvalidArgumentError(
        absl::StrCat(question.label(), ": no leaf of the taxonomy has this label"));
  }
  const EvidenceView view(question.evidence());
  return reasoner::Judge({knowledge_, rules_, view}, *leaf);
}

absl::StatusOr<v1::CritiqueAnswer> BuiltinReasoner::Critique(const v1::CritiqueQuestion& question,
                                                             absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("critique", deadline));
  const EvidenceView view(question.evidence());
  return reasoner::Critique({knowledge_, rules_, view}, question);
}

absl::StatusOr<v1::ExploreAnswer> BuiltinReasoner::Explore(const v1::ExploreQuestion& question,
                                                           absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("explore", deadline));
  const EvidenceView view(question.evidence());
  return reasoner::Explore({knowledge_, rules_, view}, question);
}

absl::StatusOr<v1::ConcludeAnswer> BuiltinReasoner::Conclude(const v1::ConcludeQuestion& question,
                                                             absl::Time deadline) const {
  GALEN_RETURN_IF_ERROR(InTime("conclude", deadline));
  const EvidenceView view(question.evidence());
  return reasoner::Conclude({knowledge_, rules_, view}, question);
}

}  // namespace galen::reasoner
