#include "common/reasoner/judge.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/doubt.h"
#include "common/reasoner/messages.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Device;
using galen::v1::Finding;
using galen::v1::Reason;
using galen::v1::Signal;
using galen::v1::Verdict;
using knowledge::Truth;
using knowledge::v1::Label;
using knowledge::v1::Rule;

// The scale of the log-odds. One specific entry lifts the rarest leaf over the bar of kConfirm, one
// shared entry lifts none, two shared ones lift all.
constexpr double kConfirm = 0.8;
constexpr double kSpecific = 8.0;
constexpr double kMoreSpecific = 2.0;
constexpr double kShared = 3.5;
constexpr double kContext = 0.5;
constexpr double kMaxContext = 1.0;
constexpr double kOpposed = -6.0;
constexpr double kMoreOpposed = -2.0;
constexpr double kOpposedByAbsence = -1.0;
constexpr double kNothingSeen = -3.0;
// A decisive message where no rule confirms.
constexpr double kMessage = 6.0;
// What is presumed is never as certain as what is confirmed.
constexpr double kMostPresumed = 0.75;

bool SameKind(absl::string_view a, absl::string_view b) {
  return a.substr(0, a.find(':')) == b.substr(0, b.find(':'));
}

// Can a fault of device `cause` show on `effect`? Not on another device of the same kind.
bool CanReach(absl::string_view cause, absl::string_view effect) {
  if (cause.empty() || effect.empty() || !SameKind(cause, effect)) return true;
  return cause == effect || absl::StartsWith(effect, absl::StrCat(cause, "/")) ||
         absl::StartsWith(cause, absl::StrCat(effect, "/"));
}

// A refute rule over the same value as the confirm rule, with conditions that hold: it says what
// that value means here, so the sign is none (a reset without a record, beside the log of a panic).
bool TakenBack(const Case& the_case, const Label& leaf, const Rule& confirm,
               absl::string_view node) {
  return std::any_of(leaf.refute().begin(), leaf.refute().end(), [&](const Rule& refute) {
    return refute.with_size() > 0 && confirm.with_size() == 0 &&
           refute.check() == confirm.check() && refute.finding() == confirm.finding() &&
           refute.op() == confirm.op() && refute.value() == confirm.value() &&
           EvaluateRefute(the_case.knowledge, refute, the_case.evidence, node).truth ==
               Truth::kTrue;
  });
}

std::vector<Entry> TrueConfirms(const Case& the_case, const Label& leaf, absl::string_view node) {
  std::vector<Entry> entries;
  for (const Rule& rule : leaf.confirm()) {
    Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth != Truth::kTrue || TakenBack(the_case, leaf, rule, node)) continue;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Grade GradeOf(const Case& the_case, const Entry& entry) {
  // A log without an event is no finding, so there is nothing that it could prove.
  Grade grade = Grade::kContext;
  if (entry.rule->context()) return grade;
  if (entry.rule->with_size() > 0 && !entry.findings.empty()) return Grade::kEvidence;
  for (const Finding* finding : entry.findings) {
    grade = std::max(grade, reasoner::GradeOf(the_case.knowledge, *finding, *entry.result));
  }
  return grade;
}

// A refute entry that only denies one sign of the leaf, where the leaf has others: a value of none
// or zero, or the opposite of a confirm rule over the same finding. Not one that names another
// fault, such as a service that is down.
bool DeniesOneSign(const Case& the_case, const Label& leaf, const Entry& refute) {
  const bool names_a_fault =
      std::any_of(refute.findings.begin(), refute.findings.end(), [&](const Finding* finding) {
        return IsAbnormal(the_case.knowledge, refute.rule->check(), *finding, *refute.result);
      });
  if (names_a_fault) return false;
  return StatesAbsence(*refute.rule) ||
         std::any_of(leaf.confirm().begin(), leaf.confirm().end(), [&](const Rule& rule) {
           return rule.check() == refute.rule->check() && rule.finding() == refute.rule->finding();
         });
}

// How well a leaf stands before anything is attributed: its prior, each check that speaks for it,
// and what speaks against it.
double Standing(const Case& the_case, const Label& leaf, const std::vector<Entry>& entries,
                absl::string_view node) {
  std::set<absl::string_view> checks;
  for (const Entry& entry : entries) {
    if (GradeOf(the_case, entry) == Grade::kEvidence) checks.insert(entry.rule->check());
  }
  double standing = PriorLogOdds(leaf) + kShared * static_cast<double>(checks.size());
  for (const Rule& rule : leaf.refute()) {
    const Entry entry = EvaluateRefute(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth != Truth::kTrue) continue;
    standing += DeniesOneSign(the_case, leaf, entry) ? kOpposedByAbsence : kOpposed;
  }
  return standing;
}

bool RestsOn(const std::vector<Entry>& entries, const Finding& finding) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    return std::find(entry.findings.begin(), entry.findings.end(), &finding) !=
           entry.findings.end();
  });
}

// Another leaf that has as good a claim to the finding, or nullptr. A leaf that lists `leaf` as its
// effect claims nothing: it repeats the evidence of what it causes.
const Label* Rival(const Case& the_case, const Label& leaf, double standing, const Entry& entry,
                   const Finding& finding, absl::string_view node) {
  for (const Label* other : the_case.index.Confirming(entry.rule->check(), entry.rule->finding())) {
    if (other == &leaf || ListsEffect(*other, leaf.label())) continue;
    // What is the answer only for want of a better one has no claim beside one that has.
    if (other->residual() && !leaf.residual()) continue;
    std::vector<Entry> theirs = TrueConfirms(the_case, *other, node);
    // A rule with conditions tells more than one that rests on the same finding alone.
    if (entry.rule->with_size() > 0) {
      theirs.erase(std::remove_if(theirs.begin(), theirs.end(),
                                  [](const Entry& each) { return each.rule->with_size() == 0; }),
                   theirs.end());
    }
    if (!RestsOn(theirs, finding)) continue;
    // A cause shares the evidence of its effect however much likelier it is.
    const bool own_effect = ListsEffect(leaf, other->label());
    if (!own_effect && Standing(the_case, *other, theirs, node) < standing) continue;
    return other;
  }
  return nullptr;
}

// Another leaf that lists this logged event as its effect and has evidence besides, or nullptr.
const Label* Explainer(const Case& the_case, const Label& leaf, const Finding& finding,
                       absl::string_view node) {
  const std::string effect = EffectName(finding);
  if (effect.empty()) return nullptr;
  for (const Label* other : the_case.index.Causing(effect)) {
    if (other == &leaf || ListsEffect(*other, leaf.label()) || ListsEffect(leaf, other->label())) {
      continue;
    }
    for (const Entry& entry : TrueConfirms(the_case, *other, node)) {
      for (const Finding* theirs : entry.findings) {
        if (reasoner::GradeOf(the_case.knowledge, *theirs, *entry.result) != Grade::kEvidence ||
            ListsEffect(*other, EffectName(*theirs)) ||
            !CanReach(theirs->subject().device(), finding.subject().device())) {
          continue;
        }
        // Refuted by absence of another sign does not matter here: the evidence is there.
        const bool opposed =
            std::any_of(other->refute().begin(), other->refute().end(), [&](const Rule& rule) {
              return !StatesAbsence(rule) &&
                     EvaluateRefute(the_case.knowledge, rule, the_case.evidence, node).truth ==
                         Truth::kTrue;
            });
        if (!opposed) return other;
      }
    }
  }
  return nullptr;
}

bool LogsOnly(const Case& the_case, const Rule& rule) {
  const knowledge::v1::Check* check = the_case.knowledge.FindCheck(rule.check());
  return check != nullptr && ReadsOnlyLogs(*check);
}

// Does a message that a log holds of this leaf alone turn a state that many machines are in into
// evidence? That something is not there is such a state only where it ought to be.
bool MadeTelling(const Case& the_case, const Label& leaf, const Entry& entry) {
  if (LogsOnly(the_case, *entry.rule) || StrongMessage(the_case.evidence, leaf) == nullptr)
    return false;
  const bool abnormal =
      std::any_of(entry.findings.begin(), entry.findings.end(), [&](const Finding* finding) {
        return IsAbnormal(the_case.knowledge, entry.rule->check(), *finding, *entry.result);
      });
  return abnormal || !StatesAbsence(*entry.rule);
}

// The best that one of the entry's findings gives, keeping only the findings that give it.
Supporting Attribute(const Case& the_case, const Label& leaf, double standing, Entry entry,
                     absl::string_view node) {
  Supporting result;
  if (entry.rule->context()) {
    if (MadeTelling(the_case, leaf, entry)) result.support = Support::kSpecific;
    result.entry = std::move(entry);
    return result;
  }
  std::vector<const Finding*> kept;
  for (const Finding* finding : entry.findings) {
    Support support = Support::kContext;
    const Label* rival = nullptr;
    if (entry.rule->with_size() > 0 ||
        reasoner::GradeOf(the_case.knowledge, *finding, *entry.result) == Grade::kEvidence) {
      rival = Explainer(the_case, leaf, *finding, node);
      support = Support::kExplained;
      if (rival == nullptr) {
        rival = Rival(the_case, leaf, standing, entry, *finding, node);
        support = rival == nullptr ? Support::kSpecific : Support::kShared;
      }
    }
    if (kept.empty() || support > result.support) {
      kept.clear();
      result.support = support;
      result.rival = rival;
    }
    if (support == result.support) kept.push_back(finding);
  }
  // The same where the check declares limits and this value breaks none of them.
  if (result.support == Support::kContext && MadeTelling(the_case, leaf, entry)) {
    result.support = Support::kSpecific;
  }
  entry.findings = std::move(kept);
  result.entry = std::move(entry);
  return result;
}

bool ConfirmsByRule(const Assessment& assessment) {
  if (assessment.HasSpecific()) return true;
  std::set<absl::string_view> checks;
  for (const Supporting& each : assessment.supporting) {
    if (each.support == Support::kShared) checks.insert(each.entry.rule->check());
  }
  return checks.size() >= 2;
}

double SupportLogOdds(const Assessment& assessment) {
  double sum = 0;
  double context = 0;
  std::set<absl::string_view> specific;
  std::set<absl::string_view> shared;
  for (const Supporting& each : assessment.supporting) {
    const absl::string_view check = each.entry.rule->check();
    if (each.support == Support::kContext) context += kContext;
    if (each.support == Support::kSpecific && specific.insert(check).second) {
      sum += specific.size() == 1 ? kSpecific : kMoreSpecific;
    }
  }
  for (const Supporting& each : assessment.supporting) {
    const absl::string_view check = each.entry.rule->check();
    if (each.support != Support::kShared || specific.contains(check)) continue;
    if (shared.insert(check).second) sum += specific.empty() ? kShared : kMoreSpecific;
  }
  return sum + std::min(context, kMaxContext);
}

double OpposingLogOdds(const Case& the_case, const Label& leaf, const Assessment& assessment) {
  double sum = 0;
  bool opposed = false;
  for (const Entry& entry : assessment.opposing) {
    if (assessment.HasEvidence() && DeniesOneSign(the_case, leaf, entry)) {
      sum += kOpposedByAbsence;
    } else {
      sum += opposed ? kMoreOpposed : kOpposed;
      opposed = true;
    }
  }
  if (!opposed && !assessment.HasEvidence() && !assessment.absent.empty()) sum += kNothingSeen;
  return sum;
}

Verdict::Outcome OutcomeOf(const Case& the_case, const Label& leaf, const Assessment& assessment) {
  if (ConfirmsByRule(assessment)) {
    return Probability(assessment.log_odds) >= kConfirm ? Verdict::CONFIRMED
                                                        : Verdict::INCONCLUSIVE;
  }
  if (!assessment.opposing.empty()) return Verdict::REJECTED;
  if (assessment.HasEvidence()) return Verdict::INCONCLUSIVE;
  const bool explained =
      std::any_of(assessment.supporting.begin(), assessment.supporting.end(),
                  [](const Supporting& each) { return each.support == Support::kExplained; });
  if (explained) return Verdict::REJECTED;
  const bool saw_no_sign =
      std::any_of(assessment.absent.begin(), assessment.absent.end(),
                  [](const Entry& entry) { return !IsGeneral(entry.rule->check()); });
  const bool open =
      std::any_of(assessment.unknown.begin(), assessment.unknown.end(), [&](const Entry& entry) {
        const bool confirms = std::any_of(leaf.confirm().begin(), leaf.confirm().end(),
                                          [&](const Rule& rule) { return &rule == entry.rule; });
        return confirms && IsAskedByItself(the_case.knowledge, entry.rule->check());
      });
  return saw_no_sign && !open ? Verdict::REJECTED : Verdict::INCONCLUSIVE;
}

void AddReason(Reason::Direction direction, std::string text, const Entry& entry,
               Verdict& verdict) {
  Reason& reason = *verdict.add_reasons();
  reason.set_direction(direction);
  reason.set_text(std::move(text));
  if (entry.result != nullptr) reason.add_evidence_ids(entry.result->id());
  if (!entry.findings.empty()) *reason.mutable_finding() = *entry.findings.front();
}

std::string Qualify(const Supporting& each) {
  switch (each.support) {
    case Support::kContext:
      return "; it is true of healthy machines as well, so it proves nothing alone";
    case Support::kExplained:
      return absl::StrCat("; it is a known effect of ", each.rival->label(),
                          ", which has evidence of its own");
    case Support::kShared:
      return absl::StrCat("; ", each.rival->label(), " would show it as well");
    case Support::kSpecific:
      return "";
  }
  return "";
}

void Tell(const Case& the_case, const Label& leaf, const Assessment& assessment, Verdict& verdict) {
  for (const Supporting& each : assessment.supporting) {
    // Context beside evidence is noise for the reader.
    if (each.support == Support::kContext && assessment.HasEvidence()) continue;
    AddReason(each.support == Support::kExplained ? Reason::OPPOSES : Reason::SUPPORTS,
              absl::StrCat(Describe(the_case.knowledge, each.entry), Qualify(each)), each.entry,
              verdict);
  }
  for (const Entry& entry : assessment.opposing) {
    AddReason(Reason::OPPOSES, Describe(the_case.knowledge, entry), entry, verdict);
  }
  if (assessment.outcome == Verdict::CONFIRMED) return;
  for (const Entry& entry : assessment.absent) {
    // An all-clear over the same result has said it already.
    const bool said = std::any_of(assessment.opposing.begin(), assessment.opposing.end(),
                                  [&](const Entry& other) {
                                    return other.rule->check() == entry.rule->check() &&
                                           other.rule->finding() == entry.rule->finding();
                                  });
    if (said) continue;
    AddReason(Reason::OPPOSES, DescribeAbsence(the_case.knowledge, entry), entry, verdict);
  }
  if (leaf.confirm().empty()) {
    verdict.add_missing("no rule says how this cause would be confirmed");
  }
}

void TellSignals(const Case& the_case, const Label& leaf, Verdict& verdict) {
  for (const Signal* signal : the_case.evidence.SignalsFor(leaf.label())) {
    if (signal->strength() < galen::v1::STRONG) continue;
    Reason& reason = *verdict.add_reasons();
    reason.set_direction(Reason::SUPPORTS);
    reason.set_text(Describe(*signal));
    reason.add_evidence_ids(signal->id());
  }
}

// A finding of the job as a whole accuses no machine of it.
bool IsOfTheJob(const knowledge::Knowledge& knowledge, const Rule& rule, const Finding& finding) {
  if (!finding.subject().node().empty()) return false;
  const knowledge::v1::FindingSpec* const spec =
      knowledge.FindFinding(rule.check(), finding.name());
  return spec != nullptr && (spec->subject() == "job" || spec->subject() == "cluster");
}

void AddDevices(const knowledge::Knowledge& knowledge, const Assessment& assessment,
                std::set<std::pair<std::string, std::string>>& seen, Verdict& verdict) {
  Support best = Support::kContext;
  for (const Supporting& each : assessment.supporting) best = std::max(best, each.support);
  bool found = false;
  for (const Supporting& each : assessment.supporting) {
    if (each.support != best) continue;
    for (const Finding* finding : each.entry.findings) {
      Device device = finding->subject();
      if (IsOfTheJob(knowledge, *each.entry.rule, *finding)) {
        found = true;
        continue;
      }
      if (device.node().empty()) device.set_node(assessment.node);
      found = true;
      if (seen.insert({device.node(), device.device()}).second) *verdict.add_devices() = device;
    }
  }
  if (!found && seen.insert({assessment.node, ""}).second) {
    verdict.add_devices()->set_node(assessment.node);
  }
}

// A finding of the whole node says nothing beside one that names the device.
void DropVagueDevices(Verdict& verdict) {
  std::set<std::string> precise;
  for (const Device& device : verdict.devices()) {
    if (!device.device().empty()) precise.insert(device.node());
  }
  auto& devices = *verdict.mutable_devices();
  devices.erase(std::remove_if(devices.begin(), devices.end(),
                               [&](const Device& device) {
                                 return device.device().empty() && precise.contains(device.node());
                               }),
                devices.end());
}

Verdict::Outcome Combine(const std::vector<Assessment>& assessments) {
  bool open = assessments.empty();
  for (const Assessment& each : assessments) {
    if (each.outcome == Verdict::CONFIRMED) return Verdict::CONFIRMED;
    open = open || each.outcome != Verdict::REJECTED;
  }
  return open ? Verdict::INCONCLUSIVE : Verdict::REJECTED;
}

}  // namespace

bool Assessment::HasSpecific() const {
  return std::any_of(supporting.begin(), supporting.end(),
                     [](const Supporting& each) { return each.support == Support::kSpecific; });
}

bool Assessment::HasEvidence() const {
  return std::any_of(supporting.begin(), supporting.end(), [](const Supporting& each) {
    return each.support == Support::kShared || each.support == Support::kSpecific;
  });
}

double Probability(double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); }

double PriorLogOdds(const Label& leaf) {
  if (leaf.prior() == "high") return -3.0;
  if (leaf.prior() == "medium") return -4.0;
  return -5.0;
}

Assessment Assess(const Case& the_case, const Label& leaf, absl::string_view node) {
  Assessment assessment;
  assessment.node = std::string(node);
  std::optional<double> standing;  // asked for by few
  for (const Rule& rule : leaf.confirm()) {
    Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
    switch (entry.truth) {
      case Truth::kTrue:
        if (TakenBack(the_case, leaf, rule, node)) break;
        if (!standing.has_value()) {
          standing = Standing(the_case, leaf, TrueConfirms(the_case, leaf, node), node);
        }
        assessment.supporting.push_back(
            Attribute(the_case, leaf, *standing, std::move(entry), node));
        break;
      case Truth::kFalse:
        assessment.absent.push_back(std::move(entry));
        break;
      case Truth::kUnknown:
        assessment.unknown.push_back(std::move(entry));
        break;
    }
  }
  for (const Rule& rule : leaf.refute()) {
    Entry entry = EvaluateRefute(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth == Truth::kTrue) {
      assessment.opposing.push_back(std::move(entry));
    } else if (entry.truth == Truth::kUnknown) {
      assessment.unknown.push_back(std::move(entry));
    }
  }
  const bool by_message = !ConfirmsByRule(assessment) && assessment.opposing.empty() &&
                          DecisiveMessage(the_case.evidence, leaf, node) != nullptr;
  assessment.log_odds = PriorLogOdds(leaf) + SignalLogOdds(the_case.evidence, leaf, node) +
                        SupportLogOdds(assessment);
  assessment.log_odds += by_message ? kMessage : OpposingLogOdds(the_case, leaf, assessment);
  assessment.outcome = OutcomeOf(the_case, leaf, assessment);
  if (assessment.outcome == Verdict::CONFIRMED) {
    assessment.doubt = Doubt(the_case, leaf, assessment);
    assessment.presumed = !assessment.doubt.empty();
  }
  assessment.presumed = assessment.presumed || by_message ||
                        (leaf.residual() && assessment.outcome == Verdict::CONFIRMED);
  if (assessment.presumed) assessment.outcome = Verdict::INCONCLUSIVE;
  return assessment;
}

Verdict Judge(const Case& the_case, const Label& leaf) {
  std::vector<Assessment> assessments;
  for (const std::string& node : the_case.evidence.nodes()) {
    assessments.push_back(Assess(the_case, leaf, node));
  }
  Verdict verdict;
  verdict.set_label(leaf.label());
  verdict.set_outcome(Combine(assessments));
  double log_odds = PriorLogOdds(leaf);
  if (assessments.empty()) {
    for (const std::string& check : the_case.knowledge.ChecksFor(leaf)) {
      verdict.add_missing(absl::StrCat(check, ": not run"));
    }
  } else {
    log_odds = std::max_element(
                   assessments.begin(), assessments.end(),
                   [](const Assessment& a, const Assessment& b) { return a.log_odds < b.log_odds; })
                   ->log_odds;
  }
  verdict.set_probability(Probability(log_odds));
  const bool confirmed = verdict.outcome() == Verdict::CONFIRMED;
  const bool presumed = !confirmed && std::any_of(assessments.begin(), assessments.end(),
                                                  [](const Assessment& a) { return a.presumed; });
  verdict.set_residual(presumed);
  if (presumed) verdict.set_probability(std::min(verdict.probability(), kMostPresumed));
  std::set<std::string> missing;
  std::set<std::pair<std::string, std::string>> devices;
  for (const Assessment& each : assessments) {
    // The nodes that do not carry a confirmed cause are beside the point.
    if (confirmed && each.outcome != Verdict::CONFIRMED) continue;
    if (presumed && !each.presumed) continue;
    if (!each.doubt.empty() && missing.insert(each.doubt).second) verdict.add_missing(each.doubt);
    Tell(the_case, leaf, each, verdict);
    if (confirmed || presumed) AddDevices(the_case.knowledge, each, devices, verdict);
    for (const Entry& entry : each.unknown) {
      std::string text = Missing(entry, the_case.evidence, each.node);
      if (missing.insert(text).second) verdict.add_missing(std::move(text));
    }
  }
  TellSignals(the_case, leaf, verdict);
  DropVagueDevices(verdict);
  return verdict;
}

}  // namespace galen::reasoner
