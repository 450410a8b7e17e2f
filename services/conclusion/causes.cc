#include "services/conclusion/causes.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/conclusion/citations.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Hypothesis;
using galen::v1::Reason;
using galen::v1::Verdict;
using knowledge::v1::Label;

constexpr size_t kMaxReasons = 4;
constexpr size_t kMaxMissing = 4;

Reason::Direction Wanted(Verdict::Outcome outcome) {
  return outcome == Verdict::REJECTED ? Reason::OPPOSES : Reason::SUPPORTS;
}

std::string Explanation(const Verdict& verdict) {
  std::vector<std::string> texts;
  for (const Reason& reason : verdict.reasons()) {
    if (reason.direction() != Wanted(verdict.outcome()) || texts.size() == kMaxReasons) continue;
    texts.push_back(reason.text());
  }
  if (verdict.outcome() == Verdict::INCONCLUSIVE && verdict.missing_size() > 0) {
    std::vector<std::string> missing;
    for (const std::string& each : verdict.missing()) {
      if (missing.size() < kMaxMissing) missing.push_back(each);
    }
    const size_t more = static_cast<size_t>(verdict.missing_size()) - missing.size();
    texts.push_back(absl::StrCat("missing: ", absl::StrJoin(missing, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return absl::StrJoin(texts, "; ");
}

void AddEvidence(const Verdict& verdict, Cause& cause) {
  std::set<std::string> seen;
  const auto add = [&](Reason::Direction direction, auto& ids) {
    for (const Reason& reason : verdict.reasons()) {
      if (reason.direction() != direction) continue;
      for (const std::string& id : reason.evidence_ids()) {
        if (seen.insert(id).second) ids.Add(std::string(id));
      }
    }
  };
  add(Wanted(verdict.outcome()), *cause.mutable_evidence_ids());
  if (verdict.outcome() == Verdict::INCONCLUSIVE) {
    add(Reason::OPPOSES, *cause.mutable_opposing_ids());
  }
}

void Describe(const Label* label, Cause& cause) {
  if (label == nullptr) return;
  cause.set_title(label->title());
  cause.set_owner(label->owner());
  cause.set_severity(label->severity());
  cause.set_mitigation(label->mitigation());
}

bool LooksLike(const knowledge::Knowledge& knowledge, const std::string& primary,
               const std::string& other) {
  const auto names = [&](const std::string& a, const std::string& b) {
    const Label* label = knowledge.FindLabel(a);
    return label != nullptr &&
           std::find(label->confused_with().begin(), label->confused_with().end(), b) !=
               label->confused_with().end();
  };
  return names(primary, other) || names(other, primary);
}

}  // namespace

Cause MakeCause(const knowledge::Knowledge& knowledge, const Hypothesis& hypothesis) {
  Cause cause;
  cause.set_label(hypothesis.label());
  cause.set_title(hypothesis.title());
  Describe(knowledge.FindLabel(hypothesis.label()), cause);
  cause.set_explanation(Explanation(hypothesis.verdict()));
  cause.set_probability(hypothesis.verdict().probability());
  *cause.mutable_devices() = hypothesis.verdict().devices();
  AddEvidence(hypothesis.verdict(), cause);
  return cause;
}

Cause MakePresumed(const knowledge::Knowledge& knowledge, const Hypothesis& hypothesis) {
  Cause cause;
  cause.set_label(hypothesis.label());
  cause.set_title(hypothesis.title());
  Describe(knowledge.FindLabel(hypothesis.label()), cause);
  cause.set_explanation(hypothesis.reason());
  cause.set_probability(hypothesis.prior());
  *cause.mutable_evidence_ids() = hypothesis.evidence_ids();
  for (const std::string& id : hypothesis.similar_incidents()) {
    cause.add_evidence_ids(absl::StrCat(kIncidentPrefix, id));
  }
  return cause;
}

Cause MakeEffect(const knowledge::Knowledge& knowledge,
                 const reasoner::v1::ConcludeAnswer::Effect& effect) {
  Cause cause;
  cause.set_label(effect.effect());
  Describe(knowledge.FindLabel(effect.effect()), cause);
  cause.set_explanation(effect.text());
  *cause.mutable_devices() = effect.devices();
  *cause.mutable_evidence_ids() = effect.evidence_ids();
  cause.set_explained_by(effect.cause());
  return cause;
}

void FillCauses(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                const reasoner::v1::ConcludeAnswer& answer, galen::v1::Report& report) {
  std::set<std::string> placed;
  const auto find = [&](const std::string& label) {
    return std::find_if(
        request.hypotheses().begin(), request.hypotheses().end(), [&](const Hypothesis& each) {
          return each.label() == label && each.verdict().outcome() == Verdict::CONFIRMED;
        });
  };
  if (!answer.primary_label().empty()) {
    *report.mutable_primary_cause() = MakeCause(knowledge, *find(answer.primary_label()));
    placed.insert(answer.primary_label());
  }
  for (const std::string& label : answer.other_labels()) {
    if (placed.insert(label).second) {
      *report.add_other_causes() = MakeCause(knowledge, *find(label));
    }
  }
  for (const auto& effect : answer.effects()) {
    Cause cause = MakeEffect(knowledge, effect);
    if (const auto it = find(effect.effect()); it != request.hypotheses().end()) {
      cause.set_probability(it->verdict().probability());
    }
    *report.add_secondary_effects() = std::move(cause);
    placed.insert(effect.effect());
  }
  for (const galen::v1::Verdict& verdict : answer.suspects()) {
    Hypothesis hypothesis;
    hypothesis.set_label(verdict.label());
    *hypothesis.mutable_verdict() = verdict;
    *report.add_suspects() = MakeCause(knowledge, hypothesis);
    if (verdict.label() != answer.presumed_label()) continue;
    *report.mutable_presumed_cause() = report.suspects(report.suspects_size() - 1);
    placed.insert(verdict.label());
  }
  for (const Hypothesis& each : request.hypotheses()) {
    if (report.has_primary_cause() || each.label() != request.presumed() || each.has_verdict()) {
      continue;
    }
    Cause presumed = MakePresumed(knowledge, each);
    if (!presumed.evidence_ids().empty()) *report.mutable_presumed_cause() = std::move(presumed);
  }
  std::vector<Cause> rejected;
  std::vector<Cause> undecided;
  for (const Hypothesis& each : request.hypotheses()) {
    if (!each.has_verdict() || !placed.insert(each.label()).second) continue;
    (each.verdict().outcome() == Verdict::REJECTED ? rejected : undecided)
        .push_back(MakeCause(knowledge, each));
  }
  const auto key = [&](const Cause& cause) {
    return std::make_tuple(!LooksLike(knowledge, answer.primary_label(), cause.label()),
                           -cause.probability(), cause.label());
  };
  const auto before = [&](const Cause& a, const Cause& b) { return key(a) < key(b); };
  std::sort(rejected.begin(), rejected.end(), before);
  std::sort(undecided.begin(), undecided.end(), before);
  for (Cause& cause : rejected) *report.add_ruled_out() = std::move(cause);
  for (Cause& cause : undecided) *report.add_undecided() = std::move(cause);
}

}  // namespace galen::conclusion
