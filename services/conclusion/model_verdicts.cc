#include "services/conclusion/model_verdicts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/cause_in_words.h"
#include "common/reasoner/llm/contradiction.h"
#include "common/reasoner/llm/lines.h"
#include "services/conclusion/causes.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Citation;
using galen::v1::Hypothesis;
using galen::v1::ModelVerdict;
using galen::v1::Report;

constexpr int kMostSuspects = 3;
constexpr std::size_t kPlacesOfCause = 64;
// The least probability of a suspect that the headline "No fault found" names as not excluded.
constexpr double kWorthNaming = 0.3;
// An open verdict is a suspicion: below the probability that presumes a cause (0.35,
// docs/reasoner.md).
constexpr double kSuspicion = 0.34;
constexpr absl::string_view kShown = "shown beside the answer";

const Hypothesis* FindJudged(const v1::ConcludeRequest& request, const std::string& label) {
  const auto found = std::find_if(request.hypotheses().begin(), request.hypotheses().end(),
                                  [&](const Hypothesis& each) { return each.label() == label; });
  return found == request.hypotheses().end() ? nullptr : &*found;
}

// The evidence that the line belongs to, if any.
std::string EvidenceIdOf(const v1::ConcludeRequest& request, const Citation& citation) {
  for (const auto& result : request.evidence().results()) {
    if (result.id() == citation.artefact()) return result.id();
  }
  for (const auto& signal : request.evidence().summary().signals()) {
    if (signal.source() == citation.artefact() && signal.first_line() == citation.line()) {
      return signal.id();
    }
  }
  return "";
}

// Equally many devices and nodes are paired in their order; otherwise one of a kind belongs to all
// of the other. If the model names no machine, the places are those of the abnormal findings that
// it cites.
void AddPlaces(const v1::ConcludeRequest& request, const ModelVerdict& verdict, Cause& cause) {
  std::set<std::pair<std::string, std::string>> added;
  const auto add = [&](const std::string& node, const std::string& device) {
    if (added.size() == kPlacesOfCause || !added.insert({node, device}).second) return;
    galen::v1::Device& place = *cause.add_devices();
    place.set_node(node);
    place.set_device(device);
  };
  const std::vector<std::string> nodes = reasoner::llm::NamesByComma(verdict.node());
  std::vector<std::string> devices = reasoner::llm::NamesByComma(verdict.device());
  if (nodes.empty()) {
    for (const Citation& citation : verdict.citations()) {
      for (const auto& result : request.evidence().results()) {
        if (result.id() != citation.artefact()) continue;
        for (const galen::v1::Finding& finding : result.findings()) {
          if (!finding.abnormal()) continue;
          const galen::v1::Device& subject = finding.subject();
          add(subject.node().empty() ? result.node() : subject.node(), subject.device());
        }
      }
    }
    if (cause.devices().empty()) {
      for (const std::string& device : devices) add("", device);
    }
    return;
  }
  const bool paired = devices.size() == nodes.size();
  // With several devices on several machines, it is unknown which is where.
  if (!paired && nodes.size() > 1 && devices.size() > 1) devices.clear();
  if (devices.empty()) devices.emplace_back();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (paired) {
      add(nodes[i], devices[i]);
    } else {
      for (const std::string& device : devices) add(nodes[i], device);
    }
  }
}

Cause CauseOf(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
              const ModelVerdict& verdict) {
  Hypothesis named;
  named.set_label(verdict.label());
  Cause cause = MakeCause(knowledge, named);
  cause.set_explanation(verdict.text());
  cause.set_probability(verdict.probability());
  cause.set_judged_by(verdict.model());
  *cause.mutable_citations() = verdict.citations();
  AddPlaces(request, verdict, cause);
  std::set<std::string> ids;
  for (const Citation& citation : verdict.citations()) {
    std::string id = EvidenceIdOf(request, citation);
    if (!id.empty() && ids.insert(id).second) cause.add_evidence_ids(std::move(id));
  }
  return cause;
}

// Puts a cause before the suspects, and drops other suspects with its label.
void PutFirst(Cause cause, Report& report) {
  std::vector<Cause> suspects = {std::move(cause)};
  for (Cause& each : *report.mutable_suspects()) {
    if (each.label() != suspects.front().label() &&
        suspects.size() < static_cast<std::size_t>(kMostSuspects)) {
      suspects.push_back(std::move(each));
    }
  }
  report.mutable_suspects()->Assign(suspects.begin(), suspects.end());
}

// Removes a suspect from the undecided and ruled-out causes, so that the report names it once.
void TellOnce(const std::string& label, Report& report) {
  for (auto* causes : {report.mutable_undecided(), report.mutable_ruled_out()}) {
    causes->erase(std::remove_if(causes->begin(), causes->end(),
                                 [&](const Cause& each) { return each.label() == label; }),
                  causes->end());
  }
}

// Moves the suspects that the model rejects with valid citations to the undecided causes.
void SetAsideRejected(const std::vector<ModelVerdict*>& standing, Report& report) {
  std::vector<Cause> kept;
  for (Cause& suspect : *report.mutable_suspects()) {
    const auto rejected =
        std::find_if(standing.begin(), standing.end(), [&](const ModelVerdict* each) {
          return each->outcome() == ModelVerdict::REJECTED && each->label() == suspect.label();
        });
    if (rejected == standing.end()) {
      kept.push_back(std::move(suspect));
      continue;
    }
    if ((*rejected)->effect() == kShown) (*rejected)->set_effect("taken out of the suspects");
    *report.add_undecided() = std::move(suspect);
  }
  report.mutable_suspects()->Assign(kept.begin(), kept.end());
}

std::string NameOf(const Cause& cause) {
  return cause.title().empty() ? cause.label() : cause.title();
}

}  // namespace

void LetModelCount(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                   Report& report) {
  std::vector<ModelVerdict*> standing;
  for (const ModelVerdict& given : request.model_verdicts()) {
    ModelVerdict& verdict = *report.add_model_verdicts();
    verdict = given;
    const Hypothesis* const judged = FindJudged(request, given.label());
    if (verdict.objection().empty() && verdict.outcome() == ModelVerdict::CONFIRMED &&
        judged != nullptr) {
      const std::string fact =
          reasoner::llm::Contradiction(knowledge, request.evidence(), judged->verdict());
      if (!fact.empty()) verdict.set_objection(absl::StrCat("a fact excludes it: ", fact));
    }
    if (!verdict.objection().empty()) {
      verdict.set_effect(absl::StrCat("counts for nothing: ", verdict.objection()));
      // The text and citations of a refuted verdict do not count either.
      verdict.clear_citations();
      verdict.clear_text();
      continue;
    }
    verdict.set_effect(std::string(kShown));
    standing.push_back(&verdict);
  }
  if (standing.empty()) return;
  report.set_model_explanation(request.model_explanation());

  const auto find = [&](ModelVerdict::Outcome outcome, const std::string& label) -> ModelVerdict* {
    const auto found = std::find_if(standing.begin(), standing.end(), [&](ModelVerdict* each) {
      return each->outcome() == outcome && each->label() == label;
    });
    return found == standing.end() ? nullptr : *found;
  };
  std::vector<ModelVerdict*> named;  // causes of the taxonomy that the model confirms
  for (ModelVerdict* each : standing) {
    if (each->outcome() == ModelVerdict::CONFIRMED && !each->label().empty()) named.push_back(each);
  }

  if (report.has_primary_cause()) {
    const std::string primary = report.primary_cause().label();
    if (ModelVerdict* same = find(ModelVerdict::CONFIRMED, primary); same != nullptr) {
      same->set_effect("agrees with the built-in reasoner");
      *report.mutable_primary_cause()->mutable_citations() = same->citations();
    }
    ModelVerdict* const against = find(ModelVerdict::REJECTED, primary);
    std::vector<ModelVerdict*> others;
    for (ModelVerdict* each : named) {
      const bool known =
          std::any_of(report.other_causes().begin(), report.other_causes().end(),
                      [&](const Cause& cause) { return cause.label() == each->label(); });
      if (each->label() != primary && !known) others.push_back(each);
    }
    if (against != nullptr) {
      against->set_effect("the cause of the built-in reasoner leads: checks confirm it");
      report.add_notes(absl::StrCat("The model ", against->model(), " disagrees: it rejects \"",
                                    NameOf(report.primary_cause()),
                                    "\". Checks confirm it, so it leads here"));
    }
    for (auto other = others.rbegin(); other != others.rend(); ++other) {
      (*other)->set_effect("shown as contributing, beside the confirmed cause");
      TellOnce((*other)->label(), report);
      PutFirst(CauseOf(knowledge, request, **other), report);
    }
    return;
  }

  const std::string presumed = report.presumed_cause().label();
  if (named.empty()) {
    ModelVerdict* const no_fault = find(ModelVerdict::REJECTED, "");
    if (no_fault != nullptr) no_fault->set_effect("leads: no fault found");
    ModelVerdict* against = presumed.empty() ? nullptr : find(ModelVerdict::REJECTED, presumed);
    if (against == nullptr && !presumed.empty()) against = no_fault;
    if (against != nullptr) {
      if (against != no_fault) against->set_effect("removes the presumption");
      report.add_notes(
          absl::StrCat("The built-in reasoner presumes \"", NameOf(report.presumed_cause()),
                       "\" and the model ", against->model(),
                       against == no_fault ? " finds no fault, with citations that stand"
                                           : " rejects it with citations that stand"));
      report.clear_presumed_cause();
    }
    SetAsideRejected(standing, report);
    if (report.has_presumed_cause()) return;
    for (auto each = standing.rbegin(); each != standing.rend(); ++each) {
      if ((*each)->outcome() != ModelVerdict::OPEN || (*each)->label().empty()) continue;
      Cause suspicion = CauseOf(knowledge, request, **each);
      suspicion.set_probability(std::min(suspicion.probability(), kSuspicion));
      PutFirst(std::move(suspicion), report);
      TellOnce((*each)->label(), report);
      (*each)->set_effect("the first suspect, not proven");
    }
    return;
  }
  SetAsideRejected(standing, report);
  if (!presumed.empty() && presumed != named.front()->label()) {
    report.add_notes(absl::StrCat("The built-in reasoner would presume \"",
                                  NameOf(report.presumed_cause()),
                                  "\"; the model leads, as no cause is proven"));
  }
  for (auto each = named.rbegin(); each != named.rend(); ++each) {
    PutFirst(CauseOf(knowledge, request, **each), report);
    (*each)->set_effect("named among the suspects");
    TellOnce((*each)->label(), report);
  }
  named.front()->set_effect("leads: presumed");
  *report.mutable_presumed_cause() = report.suspects(0);
}

namespace {

// "No fault found", if the model says so and nothing else is named.
std::string NoFault(const Report& report) {
  if (report.has_primary_cause() || report.has_presumed_cause()) return "";
  for (const ModelVerdict& verdict : report.model_verdicts()) {
    if (!verdict.label().empty() || verdict.outcome() != ModelVerdict::REJECTED ||
        !verdict.objection().empty()) {
      continue;
    }
    std::string headline =
        absl::StrCat("No fault found; judged by the model ", verdict.model(),
                     verdict.text().empty() ? "" : absl::StrCat(": ", verdict.text()));
    if (!report.suspects().empty() && report.suspects(0).probability() >= kWorthNaming) {
      absl::StrAppend(&headline, ". Not excluded: ", NameOf(report.suspects(0)));
    }
    return headline;
  }
  return "";
}

}  // namespace

std::string HeadlineOfModel(const Report& report) {
  if (std::string no_fault = NoFault(report); !no_fault.empty()) return no_fault;
  if (report.presumed_cause().judged_by().empty()) {
    const ModelVerdict* const stated = CauseInWords(report);
    if (report.has_primary_cause() || report.has_presumed_cause() || stated == nullptr) return "";
    if (stated->outcome() == ModelVerdict::OPEN) {
      return absl::StrCat("No cause is proven; the model ", stated->model(),
                          " suspects one that the taxonomy does not have: ", stated->text());
    }
    return absl::StrCat(
        "No cause confirmed; a cause that the taxonomy does not have, as worded by the model ",
        stated->model(), ": ", stated->text());
  }
  return absl::StrCat("No cause confirmed; judged by the model ",
                      report.presumed_cause().judged_by(),
                      ", not proven by a check: ", NameOf(report.presumed_cause()));
}

}  // namespace galen::conclusion
