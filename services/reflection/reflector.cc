#include "services/reflection/reflector.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reflection {
namespace {

using galen::v1::EvidenceSet;
using galen::v1::Hypothesis;
using galen::v1::ProposedHypothesis;
using galen::v1::Reason;
using galen::v1::Verdict;
using knowledge::v1::Label;

std::set<absl::string_view> EvidenceIds(const EvidenceSet& evidence) {
  std::set<absl::string_view> ids;
  for (const auto& result : evidence.results()) ids.insert(result.id());
  for (const auto& signal : evidence.summary().signals()) ids.insert(signal.id());
  return ids;
}

absl::Status CheckCited(const Verdict& verdict, const std::set<absl::string_view>& ids) {
  for (const Reason& reason : verdict.reasons()) {
    for (const std::string& id : reason.evidence_ids()) {
      if (!ids.contains(id)) {
        return absl::FailedPreconditionError(absl::StrCat(
            verdict.label(), ": the reasoner cites \"", id, "\", which is not evidence"));
      }
    }
  }
  return absl::OkStatus();
}

// A verdict needs a reason of its own kind: support for a cause, opposition against it.
bool CitesGround(const Verdict& verdict) {
  const Reason::Direction wanted =
      verdict.outcome() == Verdict::CONFIRMED ? Reason::SUPPORTS : Reason::OPPOSES;
  return std::any_of(verdict.reasons().begin(), verdict.reasons().end(), [&](const Reason& reason) {
    return reason.direction() == wanted && !reason.evidence_ids().empty();
  });
}

void Weaken(Verdict& verdict) {
  Reason& reason = *verdict.add_reasons();
  reason.set_direction(verdict.outcome() == Verdict::CONFIRMED ? Reason::OPPOSES
                                                               : Reason::SUPPORTS);
  reason.set_text(absl::StrCat("the reasoner called it ",
                               verdict.outcome() == Verdict::CONFIRMED ? "confirmed" : "rejected",
                               " without citing evidence, so it stays undecided"));
  verdict.set_outcome(Verdict::INCONCLUSIVE);
  verdict.clear_devices();
}

absl::StatusOr<const Label*> FindLeaf(const knowledge::Knowledge& knowledge,
                                      const std::string& name) {
  const Label* label = knowledge.FindLabel(name);
  if (label == nullptr || !knowledge::IsLeaf(*label)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no leaf of the taxonomy has this label"));
  }
  return label;
}

}  // namespace

absl::StatusOr<v1::JudgeResponse> Reflector::Judge(const v1::JudgeRequest& request,
                                                   absl::Time deadline) const {
  for (const std::string& name : request.labels()) {
    GALEN_RETURN_IF_ERROR(FindLeaf(knowledge_, name).status());
  }
  const std::set<absl::string_view> ids = EvidenceIds(request.evidence());
  BorrowedEvidence<reasoner::v1::JudgeQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  *question->mutable_labels() = request.labels();
  GALEN_ASSIGN_OR_RETURN(reasoner::v1::JudgeAnswer answer, reasoner_.Judge(*question, deadline));
  if (answer.verdicts_size() != request.labels_size()) {
    return absl::FailedPreconditionError(absl::StrCat("judge: the reasoner gave ",
                                                      answer.verdicts_size(), " verdicts on ",
                                                      request.labels_size(), " labels"));
  }
  v1::JudgeResponse response;
  *response.mutable_reasoned() = std::move(*answer.mutable_reasoned());
  for (int i = 0; i < answer.verdicts_size(); ++i) {
    Verdict& verdict = *answer.mutable_verdicts(i);
    if (verdict.label() != request.labels(i)) {
      return absl::FailedPreconditionError(
          absl::StrCat(request.labels(i), ": the reasoner answered on \"", verdict.label(),
                       "\", which was not asked"));
    }
    GALEN_RETURN_IF_ERROR(CheckCited(verdict, ids));
    verdict.set_probability(
        std::isfinite(verdict.probability()) ? std::clamp(verdict.probability(), 0.0, 1.0) : 0.0);
    if (verdict.outcome() == Verdict::OUTCOME_UNSPECIFIED) {
      verdict.set_outcome(Verdict::INCONCLUSIVE);
    }
    if (verdict.outcome() != Verdict::INCONCLUSIVE && !CitesGround(verdict)) Weaken(verdict);
    if (verdict.outcome() != Verdict::CONFIRMED) verdict.clear_devices();
    *response.add_verdicts() = std::move(verdict);
  }
  return response;
}

absl::StatusOr<v1::CritiqueResponse> Reflector::Critique(const v1::CritiqueRequest& request,
                                                         absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::CritiqueQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  *question->mutable_judged() = request.judged();
  GALEN_ASSIGN_OR_RETURN(reasoner::v1::CritiqueAnswer answer,
                         reasoner_.Critique(*question, deadline));
  v1::CritiqueResponse response;
  if (answer.has_reasoned()) *response.add_reasoned() = answer.reasoned();
  std::set<std::string> seen;
  for (const Hypothesis& each : request.judged()) {
    if (each.has_verdict()) seen.insert(each.label());
  }
  for (const std::string& name : answer.labels()) {
    const Label* label = knowledge_.FindLabel(name);
    if (label == nullptr || !knowledge::IsLeaf(*label)) {
      return absl::FailedPreconditionError(
          absl::StrCat("critique: the reasoner answered \"", name, "\", which is not a leaf"));
    }
    if (!seen.insert(name).second) continue;  // judged already, or named twice
    ProposedHypothesis& proposed = *response.add_add();
    Hypothesis& hypothesis = *proposed.mutable_hypothesis();
    hypothesis.set_label(name);
    hypothesis.set_title(label->title());
    hypothesis.set_origin(Hypothesis::CRITIQUE);
    hypothesis.set_status(Hypothesis::PENDING);
    hypothesis.set_reason("evidence that no confirmed cause explains points to it");
    for (const std::string& check : knowledge_.ChecksFor(*label)) proposed.add_checks(check);
  }
  *response.mutable_remarks() = std::move(*answer.mutable_remarks());
  response.set_investigates(reasoner_.investigates());
  return response;
}

absl::StatusOr<v1::InvestigateResponse> Reflector::Investigate(
    const v1::InvestigateRequest& request, absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::InvestigateQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_judged() = request.judged();
  *question->mutable_transcript() = request.transcript();
  *question->mutable_fresh() = request.fresh();
  *question->mutable_spending() = request.spending();
  GALEN_ASSIGN_OR_RETURN(reasoner::v1::InvestigateAnswer answer,
                         reasoner_.Investigate(*question, deadline));
  v1::InvestigateResponse response;
  for (const galen::v1::ModelVerdict& verdict : answer.verdicts()) {
    if (verdict.outcome() != galen::v1::ModelVerdict::CONFIRMED || verdict.label().empty() ||
        !verdict.objection().empty()) {
      continue;
    }
    GALEN_ASSIGN_OR_RETURN(const Label* label, FindLeaf(knowledge_, verdict.label()));
    ProposedHypothesis& proposed = *response.add_hypotheses();
    Hypothesis& hypothesis = *proposed.mutable_hypothesis();
    hypothesis.set_label(verdict.label());
    hypothesis.set_title(label->title());
    hypothesis.set_origin(Hypothesis::MODEL);
    hypothesis.set_status(Hypothesis::PENDING);
    hypothesis.set_reason(absl::StrCat("the model ", verdict.model(), " confirms it"));
    for (const std::string& check : knowledge_.ChecksFor(*label)) proposed.add_checks(check);
  }
  *response.mutable_calls() = std::move(*answer.mutable_calls());
  *response.mutable_verdicts() = std::move(*answer.mutable_verdicts());
  response.set_explanation(answer.explanation());
  *response.mutable_suggestions() = std::move(*answer.mutable_suggestions());
  response.set_ended(answer.ended());
  response.set_concluded(answer.concluded());
  if (answer.has_reasoned()) *response.add_reasoned() = std::move(*answer.mutable_reasoned());
  return response;
}

}  // namespace galen::reflection
