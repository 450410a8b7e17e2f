#include "services/planning/planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::planning {
namespace {

using galen::v1::Hypothesis;
using galen::v1::ProposedHypothesis;
using galen::v1::RankedChild;
using knowledge::v1::Label;

constexpr int kDefaultCauses = 2;
constexpr int kMaxCauses = 20;

// A reasoner may be a model, and its probability may not be a finite number: such a belief is 0.
double Belief(double probability) {
  return std::isfinite(probability) ? std::clamp(probability, 0.0, 1.0) : 0.0;
}

absl::Status NotOffered(absl::string_view object, absl::string_view label) {
  return absl::FailedPreconditionError(
      absl::StrCat(object, ": the reasoner answered \"", label, "\", which was not offered"));
}

absl::Status Twice(absl::string_view object, absl::string_view label) {
  return absl::FailedPreconditionError(
      absl::StrCat(object, ": the reasoner answered \"", label, "\" twice"));
}

RankedChild MakeChild(const knowledge::Knowledge& knowledge, const Label& label) {
  RankedChild child;
  child.set_label(label.label());
  child.set_title(label.title());
  child.set_leaf(knowledge::IsLeaf(label));
  for (const std::string& check : knowledge.ChecksFor(label)) child.add_checks(check);
  return child;
}

reasoner::v1::Choice MakeChoice(const Label& label) {
  reasoner::v1::Choice choice;
  choice.set_label(label.label());
  choice.set_title(label.title());
  choice.set_description(label.description());
  choice.set_leaf(knowledge::IsLeaf(label));
  return choice;
}

ProposedHypothesis MakeProposed(const knowledge::Knowledge& knowledge, const Label& label,
                                Hypothesis::Origin origin) {
  ProposedHypothesis proposed;
  Hypothesis& hypothesis = *proposed.mutable_hypothesis();
  hypothesis.set_label(label.label());
  hypothesis.set_title(label.title());
  hypothesis.set_origin(origin);
  hypothesis.set_status(Hypothesis::PENDING);
  for (const std::string& check : knowledge.ChecksFor(label)) proposed.add_checks(check);
  return proposed;
}

int CausesWanted(int asked) { return asked <= 0 ? kDefaultCauses : std::min(asked, kMaxCauses); }

std::string NameOf(absl::string_view label) {
  return label.empty() ? "the root of the taxonomy" : std::string(label);
}

}  // namespace

absl::StatusOr<v1::ProposeFromHistoryResponse> Planner::ProposeFromHistory(
    const v1::ProposeFromHistoryRequest& request, absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::HistoryQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  question->set_max_causes(CausesWanted(request.max_causes()));
  question->set_tenant(request.tenant());
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::HistoryAnswer answer,
                         reasoner_.ProposeFromHistory(*question, deadline));
  v1::ProposeFromHistoryResponse response;
  if (answer.has_embedded()) *response.add_reasoned() = answer.embedded();
  if (answer.has_reasoned()) *response.add_reasoned() = answer.reasoned();
  std::set<std::string> seen;
  for (const reasoner::v1::HistoryAnswer::Cause& cause : answer.causes()) {
    const Label* label = knowledge_.FindLabel(cause.label());
    if (label == nullptr || !knowledge::IsLeaf(*label)) {
      return NotOffered("history", cause.label());
    }
    if (!seen.insert(cause.label()).second) return Twice("history", cause.label());
    if (response.hypotheses_size() == question->max_causes()) break;
    ProposedHypothesis& proposed = *response.add_hypotheses();
    proposed = MakeProposed(knowledge_, *label, Hypothesis::HISTORY);
    Hypothesis& hypothesis = *proposed.mutable_hypothesis();
    hypothesis.set_prior(Belief(cause.probability()));
    hypothesis.set_reason(cause.reason());
    *hypothesis.mutable_similar_incidents() = cause.incidents();
  }
  return response;
}

absl::StatusOr<v1::ProposeAtOnceResponse> Planner::ProposeAtOnce(
    const v1::ProposeAtOnceRequest& request, absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::PresumeQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  question->set_max_causes(CausesWanted(request.max_causes()));
  question->set_tenant(request.tenant());
  std::map<std::string, const Label*> offered;
  for (const Label& label : knowledge_.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    *question->add_choices() = MakeChoice(label);
    offered.emplace(label.label(), &label);
  }
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::PresumeAnswer answer,
                         reasoner_.Presume(*question, deadline));
  std::set<std::string> signals;
  for (const auto& signal : request.evidence().summary().signals()) signals.insert(signal.id());
  v1::ProposeAtOnceResponse response;
  if (answer.has_reasoned()) *response.add_reasoned() = answer.reasoned();
  std::set<std::string> seen;
  for (const reasoner::v1::PresumeAnswer::Cause& cause : answer.causes()) {
    const auto label = offered.find(cause.label());
    if (label == offered.end()) return NotOffered("at once", cause.label());
    if (!seen.insert(cause.label()).second) return Twice("at once", cause.label());
    for (const std::string& id : cause.evidence_ids()) {
      if (!signals.contains(id)) {
        return absl::FailedPreconditionError(absl::StrCat(cause.label(), ": the reasoner cites \"",
                                                          id, "\", which is not a signal"));
      }
    }
    if (cause.evidence_ids().empty() && cause.incidents().empty()) continue;
    if (response.hypotheses_size() == question->max_causes()) break;
    ProposedHypothesis& proposed = *response.add_hypotheses();
    proposed = MakeProposed(knowledge_, *label->second, Hypothesis::DIRECT);
    Hypothesis& hypothesis = *proposed.mutable_hypothesis();
    hypothesis.set_prior(Belief(cause.probability()));
    hypothesis.set_reason(cause.reason());
    *hypothesis.mutable_similar_incidents() = cause.incidents();
    *hypothesis.mutable_evidence_ids() = cause.evidence_ids();
  }
  return response;
}

v1::ListCausesResponse Planner::ListCauses() const {
  v1::ListCausesResponse response;
  for (const Label& label : knowledge_.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    *response.add_hypotheses() = MakeProposed(knowledge_, label, Hypothesis::TAXONOMY);
  }
  return response;
}

absl::StatusOr<v1::RankChildrenResponse> Planner::RankChildren(
    const v1::RankChildrenRequest& request, absl::Time deadline) const {
  if (!request.label().empty() && knowledge_.FindLabel(request.label()) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.label(), ": the taxonomy has no such label"));
  }
  const std::vector<const Label*> children = knowledge_.Children(request.label());
  if (children.empty()) return v1::RankChildrenResponse();
  BorrowedEvidence<reasoner::v1::RankQuestion> question(request.evidence());
  question->set_label(request.label());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  for (const Label* child : children) *question->add_choices() = MakeChoice(*child);
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::RankAnswer answer,
                         reasoner_.RankChildren(*question, deadline));

  v1::RankChildrenResponse response;
  if (answer.has_reasoned()) *response.add_reasoned() = answer.reasoned();
  std::set<std::string> seen;
  std::vector<RankedChild> pruned;
  for (const reasoner::v1::RankAnswer::Ranked& ranked : answer.ranked()) {
    const auto offered = std::find_if(children.begin(), children.end(), [&](const Label* child) {
      return child->label() == ranked.label();
    });
    if (offered == children.end()) return NotOffered(NameOf(request.label()), ranked.label());
    if (!seen.insert(ranked.label()).second) return Twice(NameOf(request.label()), ranked.label());
    RankedChild child = MakeChild(knowledge_, **offered);
    child.set_probability(Belief(ranked.probability()));
    child.set_pruned(ranked.pruned());
    child.set_reason(ranked.reason());
    if (ranked.pruned()) {
      pruned.push_back(std::move(child));
    } else {
      *response.add_children() = std::move(child);
    }
  }
  for (RankedChild& child : pruned) *response.add_children() = std::move(child);
  for (const Label* left_out : children) {
    if (seen.contains(left_out->label())) continue;
    RankedChild child = MakeChild(knowledge_, *left_out);
    child.set_pruned(true);
    child.set_reason(absl::StrCat("left out by the reasoner \"", reasoner_.name(), "\""));
    *response.add_children() = std::move(child);
  }
  return response;
}

absl::StatusOr<v1::ScreenResponse> Planner::Screen(const v1::ScreenRequest& request,
                                                   absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::ScreenQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_judged() = request.judged();
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::ScreenAnswer answer,
                         reasoner_.Screen(*question, deadline));
  v1::ScreenResponse response;
  std::set<std::string> seen;
  for (const reasoner::v1::ScreenAnswer::Suspect& suspect : answer.suspects()) {
    const Label* label = knowledge_.FindLabel(suspect.label());
    if (label == nullptr || !knowledge::IsLeaf(*label)) {
      return NotOffered("screening", suspect.label());
    }
    if (!seen.insert(suspect.label()).second) return Twice("screening", suspect.label());
    ProposedHypothesis& proposed = *response.add_hypotheses();
    proposed = MakeProposed(knowledge_, *label, Hypothesis::SCREENING);
    if (suspect.as_known()) proposed.clear_checks();
    proposed.mutable_hypothesis()->set_prior(Belief(suspect.probability()));
    proposed.mutable_hypothesis()->set_reason(suspect.reason());
  }
  if (response.hypotheses_size() > 0) return response;
  for (const std::string& name : answer.checks()) {
    const knowledge::v1::Check* check = knowledge_.FindCheck(name);
    if (check == nullptr || check->intrusive()) return NotOffered("screening", name);
    if (!seen.insert(name).second) return Twice("screening", name);
    response.add_checks(name);
  }
  return response;
}

// A question to a person only observes. A check that loads a device is a test and waits for
// permission.
absl::Status Planner::CheckQuestion(const galen::v1::Question& question, bool loads) const {
  const knowledge::v1::Check* check = knowledge_.FindCheck(question.check());
  if (check == nullptr || check->intrusive() != loads || question.loads() != loads) {
    return NotOffered(loads ? "tests" : "questions", question.check());
  }
  for (const galen::v1::Question::Answer& answer : question.answers()) {
    for (const galen::v1::Question::Answer::Effect& effect : answer.effects()) {
      const Label* label = knowledge_.FindLabel(effect.label());
      if (label == nullptr || !knowledge::IsLeaf(*label)) {
        return NotOffered("questions", effect.label());
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ExploreResponse> Planner::Explore(const v1::ExploreRequest& request,
                                                     absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::ExploreQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  *question->mutable_judged() = request.judged();
  *question->mutable_asked() = request.asked();
  GALEN_ASSIGN_OR_RETURN(reasoner::v1::ExploreAnswer answer,
                         reasoner_.Explore(*question, deadline));
  v1::ExploreResponse response;
  if (answer.has_reasoned()) *response.add_reasoned() = answer.reasoned();
  *response.mutable_suggestions() = std::move(*answer.mutable_suggestions());
  for (galen::v1::Question& asked : *answer.mutable_questions()) {
    GALEN_RETURN_IF_ERROR(CheckQuestion(asked, /*loads=*/false));
    *response.add_questions() = std::move(asked);
  }
  for (galen::v1::Question& test : *answer.mutable_tests()) {
    GALEN_RETURN_IF_ERROR(CheckQuestion(test, /*loads=*/true));
    *response.add_tests() = std::move(test);
  }
  return response;
}

}  // namespace galen::planning
