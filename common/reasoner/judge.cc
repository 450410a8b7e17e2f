#include "common/reasoner/judge.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Device;
using galen::v1::Finding;
using galen::v1::Reason;
using galen::v1::Verdict;
using knowledge::v1::Label;
using knowledge::v1::Rule;

// A less probable leaf may be rejected.
constexpr double kImprobable = 0.05;
// An observation that at least this share of other incidents shows is reported with their number.
constexpr double kCommon = 0.05;

bool IsConfirmRule(const Label& leaf, const Rule* rule) {
  return std::any_of(leaf.confirm().begin(), leaf.confirm().end(),
                     [&](const Rule& each) { return &each == rule; });
}

// Whether all checks that a diagnosis runs by itself searched for it and saw nothing.
bool WasLookedForInVain(const Case& the_case, const Belief& belief) {
  const bool looked =
      std::any_of(belief.absent.begin(), belief.absent.end(),
                  [](const Entry& entry) { return !IsGeneral(entry.rule->check()); });
  const bool open =
      std::any_of(belief.unknown.begin(), belief.unknown.end(), [&](const Entry& entry) {
        return IsConfirmRule(*belief.leaf, entry.rule) &&
               IsAskedByItself(the_case.knowledge, entry.rule->check());
      });
  return looked && !open && !belief.HasEvidence();
}

// The proven cause that explains all its evidence from machines and logs, or nullptr.
const Label* AccountedForBy(const Case& the_case, const Beliefs& beliefs, const Belief& belief) {
  for (const Label* cause : beliefs.proven()) {
    bool any = false;
    const bool all = std::all_of(
        belief.observations.begin(), belief.observations.end(), [&](const Observation& each) {
          if (!IsEvidence(each) || each.witness == Witness::kEffect) return true;
          any = true;
          if (each.signal != nullptr) return Explains(the_case, *cause, *each.signal);
          return !each.entry.findings.empty() &&
                 std::all_of(each.entry.findings.begin(), each.entry.findings.end(),
                             [&](const Finding* finding) {
                               return Explains(the_case, *cause, *finding, *each.entry.result);
                             });
        });
    if (any && all) return cause;
  }
  return nullptr;
}

bool IsRejected(const Case& the_case, const Beliefs& beliefs, const Belief& belief) {
  if (beliefs.Probability(*belief.leaf) >= kImprobable) return false;
  return belief.IsOpposed() || WasLookedForInVain(the_case, belief) ||
         AccountedForBy(the_case, beliefs, belief) != nullptr;
}

void AddReason(Reason::Direction direction, std::string text, const Entry& entry,
               Verdict& verdict) {
  Reason& reason = *verdict.add_reasons();
  reason.set_direction(direction);
  reason.set_text(std::move(text));
  if (entry.result != nullptr) reason.add_evidence_ids(entry.result->id());
  if (!entry.findings.empty()) *reason.mutable_finding() = *entry.findings.front();
}

// "; 12 of 140 incidents with another cause show it as well".
std::string HowCommon(const Rate& rate) {
  if (rate.asked == 0 || rate.seen < kCommon * rate.asked) return "";
  return absl::StrFormat("; %.0f of %.0f incidents with another cause show it as well", rate.seen,
                         rate.asked);
}

void TellObservation(const Case& the_case, const Observation& each, Verdict& verdict) {
  if (each.signal != nullptr) {
    const bool words = each.signal->where() == galen::v1::DESCRIPTION;
    Reason& reason = *verdict.add_reasons();
    reason.set_direction(Reason::SUPPORTS);
    reason.set_text(absl::StrCat(
        Describe(*each.signal), HowCommon(the_case.rates.OfMessage(each.signal->signal(), words))));
    reason.add_evidence_ids(each.signal->id());
  } else if (each.entry.rule != nullptr) {
    AddReason(Reason::SUPPORTS,
              absl::StrCat(Describe(the_case.knowledge, each.entry),
                           each.witness == Witness::kEffect ? "; it is a known effect" : "",
                           HowCommon(the_case.rates.Of(*each.entry.rule,
                                                       IsOnSome(the_case.evidence, each.entry)))),
              each.entry, verdict);
  } else if (each.like != nullptr && TellsOfIt(*each.like)) {
    AddReason(Reason::SUPPORTS, Describe(*each.like), each.entry, verdict);
  }
}

void Tell(const Case& the_case, const Beliefs& beliefs, const Belief& belief, Verdict& verdict) {
  const bool confirmed = verdict.outcome() == Verdict::CONFIRMED;
  for (const Observation& each : belief.observations) {
    TellObservation(the_case, each, verdict);
  }
  for (const Entry& entry : belief.opposing) {
    AddReason(Reason::OPPOSES, Describe(the_case.knowledge, entry), entry, verdict);
  }
  for (const Entry& entry : belief.opposing_in_part) {
    AddReason(Reason::OPPOSES,
              absl::StrCat("in the part that was shown: ", Describe(the_case.knowledge, entry)),
              entry, verdict);
  }
  for (const galen::v1::Signal* denial : belief.denials) {
    Reason& reason = *verdict.add_reasons();
    reason.set_direction(Reason::OPPOSES);
    reason.set_text(Describe(*denial));
    reason.add_evidence_ids(denial->id());
  }
  if (confirmed) return;
  for (const Entry& entry : belief.absent) {
    // An all-clear over the same result was already reported.
    const bool said =
        std::any_of(belief.opposing.begin(), belief.opposing.end(), [&](const Entry& other) {
          return other.rule->check() == entry.rule->check() &&
                 other.rule->finding() == entry.rule->finding();
        });
    if (said) continue;
    AddReason(Reason::OPPOSES, DescribeAbsence(the_case.knowledge, entry), entry, verdict);
  }
  if (const Label* cause = AccountedForBy(the_case, beliefs, belief); cause != nullptr) {
    Reason& reason = *verdict.add_reasons();
    reason.set_direction(Reason::OPPOSES);
    reason.set_text(absl::StrCat(cause->label(), " accounts for all that was seen of it"));
    for (const Observation& each : belief.observations) {
      if (each.signal != nullptr) reason.add_evidence_ids(each.signal->id());
      if (each.entry.result != nullptr) reason.add_evidence_ids(each.entry.result->id());
    }
  }
}

// A finding about the job as a whole does not implicate its machine.
bool IsOfTheJob(const knowledge::Knowledge& knowledge, const Rule& rule, const Finding& finding) {
  if (!finding.subject().node().empty()) return false;
  const knowledge::v1::FindingSpec* const spec =
      knowledge.FindFinding(rule.check(), finding.name());
  return spec != nullptr && (spec->subject() == "job" || spec->subject() == "cluster");
}

// Adds the devices of the machine's own evidence; without any, the place that a log names.
void AddDevices(const Case& the_case, const Belief& belief,
                std::set<std::pair<std::string, std::string>>& seen, Verdict& verdict) {
  const auto add = [&](const Device& device) {
    if (seen.insert({device.node(), device.device()}).second) *verdict.add_devices() = device;
  };
  bool told = false;
  for (const Witness witness : {Witness::kMachine, Witness::kLog}) {
    double most = 0;  // an observation with far less weight names no place
    for (const Observation& each : belief.observations) {
      const bool context = each.entry.rule != nullptr && each.entry.rule->context();
      if (each.witness != witness || context || !IsEvidence(each)) continue;
      most = std::max(most, each.weight);
      if (each.weight < most / 2) continue;
      for (const Finding* finding : each.entry.findings) {
        told = true;
        if (IsOfTheJob(the_case.knowledge, *each.entry.rule, *finding)) continue;
        Device device = finding->subject();
        if (device.node().empty()) device.set_node(belief.node);
        add(device);
      }
      if (each.signal != nullptr && !each.signal->node().empty()) {
        told = true;
        Device device;
        device.set_node(each.signal->node());
        add(device);
      }
    }
    if (told) return;
  }
  if (the_case.evidence.nodes().size() != 1) return;
  Device device;
  device.set_node(belief.node);
  add(device);
}

// A finding of the whole node adds nothing to one that names the device.
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

}  // namespace

Verdict Judge(const Case& the_case, const Beliefs& beliefs, const Label& leaf) {
  Verdict verdict;
  verdict.set_label(leaf.label());
  verdict.set_probability(beliefs.Probability(leaf));
  if (the_case.evidence.nodes().empty()) {
    for (const std::string& check : the_case.knowledge.ChecksFor(leaf)) {
      verdict.add_missing(absl::StrCat(check, ": not run"));
    }
  }
  const absl::Span<const Belief> on_nodes = beliefs.OnNodes(leaf);
  verdict.set_outcome(Verdict::INCONCLUSIVE);
  if (beliefs.IsProven(leaf)) {
    verdict.set_outcome(Verdict::CONFIRMED);
  } else if (std::all_of(on_nodes.begin(), on_nodes.end(), [&](const Belief& belief) {
               return IsRejected(the_case, beliefs, belief);
             })) {
    verdict.set_outcome(Verdict::REJECTED);
  }
  const bool confirmed = verdict.outcome() == Verdict::CONFIRMED;
  const bool likeliest = !beliefs.ranked().empty() && beliefs.ranked().front() == &leaf;
  // Nodes without the cause are irrelevant.
  const Belief& best = beliefs.Of(leaf);
  std::set<std::string> missing;
  std::set<std::pair<std::string, std::string>> devices;
  for (const Belief& belief : on_nodes) {
    const bool carries = &belief == &best || (belief.HasEvidence() &&
                                              beliefs.ProbabilityThere(belief) >= Beliefs::kProven);
    if ((confirmed || likeliest) && !carries) continue;
    Tell(the_case, beliefs, belief, verdict);
    if (confirmed || (likeliest && belief.HasEvidence())) {
      AddDevices(the_case, belief, devices, verdict);
    }
    if (belief.node.empty()) continue;  // no check has run at all, which is reported
    for (const Entry& entry : belief.unknown) {
      std::string text = Missing(entry, the_case.evidence, belief.node);
      if (missing.insert(text).second) verdict.add_missing(std::move(text));
    }
  }
  if (leaf.confirm().empty()) {
    verdict.add_missing("no rule says how this cause would be confirmed");
  }
  DropVagueDevices(verdict);
  return verdict;
}

}  // namespace galen::reasoner
