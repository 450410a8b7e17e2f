#include "bench/eval/runner/describe.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/eval/runner/entailment.h"

namespace galen::eval {
namespace {

using galen::v1::Diagnosis;
using galen::v1::DiagnosisEvent;
using galen::v1::Hypothesis;

// The PCI addresses of devices in any finding, by node and device: a verdict may name a GPU by its
// number and the answer by its address.
std::map<std::string, std::set<std::string>> Addresses(const Diagnosis& diagnosis) {
  std::map<std::string, std::set<std::string>> addresses;
  for (const galen::v1::CheckResult& result : diagnosis.check_results()) {
    for (const galen::v1::Finding& finding : result.findings()) {
      const galen::v1::Device& device = finding.subject();
      if (device.pci_address().empty() || device.device().empty()) continue;
      addresses[absl::StrCat(device.node(), "/", device.device())].insert(device.pci_address());
    }
  }
  return addresses;
}

v1::NamedCause NameCause(const galen::v1::Cause& cause, const Diagnosis& diagnosis) {
  v1::NamedCause named;
  named.set_label(cause.label());
  named.set_probability(cause.probability());
  const auto addresses = Addresses(diagnosis);
  std::set<std::string> places;
  for (const galen::v1::Device& device : cause.devices()) {
    if (device.device().empty() && device.pci_address().empty()) {
      places.insert(device.node());
      continue;
    }
    const std::string place = absl::StrCat(device.node(), "/", device.device());
    if (!device.device().empty()) places.insert(place);
    if (!device.pci_address().empty()) {
      places.insert(absl::StrCat(device.node(), "/", device.pci_address()));
    }
    if (const auto found = addresses.find(place); found != addresses.end()) {
      for (const std::string& address : found->second) {
        places.insert(absl::StrCat(device.node(), "/", address));
      }
    }
  }
  named.mutable_places()->Assign(places.begin(), places.end());
  for (const Hypothesis& hypothesis : diagnosis.hypotheses()) {
    if (hypothesis.label() != cause.label()) continue;
    named.set_origin(Hypothesis::Origin_Name(hypothesis.origin()));
  }
  return named;
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
}

v1::JudgedHypothesis DescribeHypothesis(const Hypothesis& hypothesis) {
  v1::JudgedHypothesis judged;
  judged.set_label(hypothesis.label());
  judged.set_origin(Hypothesis::Origin_Name(hypothesis.origin()));
  judged.set_status(Hypothesis::Status_Name(hypothesis.status()));
  judged.set_probability(hypothesis.verdict().probability());
  for (const galen::v1::Reason& reason : hypothesis.verdict().reasons()) {
    const bool supports = reason.direction() == galen::v1::Reason::SUPPORTS;
    (supports ? judged.add_supports() : judged.add_opposes())->assign(reason.text());
  }
  *judged.mutable_missing() = hypothesis.verdict().missing();
  return judged;
}

}  // namespace

void CountReasonerUse(const DiagnosisEvent& event, v1::ReasonerUse& use) {
  for (const galen::v1::Reasoned& reasoned : event.reasoned()) {
    use.set_model_calls(use.model_calls() + reasoned.calls());
    use.set_input_tokens(use.input_tokens() + reasoned.input_tokens());
    use.set_output_tokens(use.output_tokens() + reasoned.output_tokens());
    use.set_cost_nanos(use.cost_nanos() + reasoned.cost_nanos());
    if (reasoned.fallback() != galen::v1::Reasoned::NONE) {
      ++(*use.mutable_fallbacks())[galen::v1::Reasoned::Fallback_Name(reasoned.fallback())];
    }
  }
  auto& calls = *use.mutable_calls();
  switch (event.event_case()) {
    case DiagnosisEvent::kSummarized:
      ++calls["Summarize"];
      break;
    case DiagnosisEvent::kHypothesesProposed:
      switch (event.hypotheses_proposed().origin()) {
        case Hypothesis::TAXONOMY:  // every root cause: nobody is asked
          break;
        case Hypothesis::DIRECT:
          ++calls["ProposeAtOnce"];
          break;
        default:
          ++calls["ProposeFromHistory"];
          break;
      }
      break;
    case DiagnosisEvent::kScreened:
      ++calls["Screen"];
      break;
    case DiagnosisEvent::kChildrenRanked:
      ++calls["RankChildren"];
      break;
    case DiagnosisEvent::kVerdictsGiven:
      calls["Judge"] += event.verdicts_given().verdicts_size();
      break;
    case DiagnosisEvent::kCritiqued:
      ++calls["Critique"];
      break;
    case DiagnosisEvent::kInvestigated:
      ++calls["Investigate"];
      break;
    case DiagnosisEvent::kExplored:
      ++calls["Explore"];
      break;
    case DiagnosisEvent::kConcluded:
      ++calls["Conclude"];
      break;
    default:
      break;
  }
}

v1::CaseResult Describe(const Diagnosis& diagnosis, const knowledge::Knowledge& knowledge) {
  v1::CaseResult result;
  if (diagnosis.state() == Diagnosis::FAILED) {
    result.set_error(diagnosis.error().message().empty() ? "the diagnosis failed"
                                                         : diagnosis.error().message());
  }
  const galen::v1::Report& report = diagnosis.report();
  for (const galen::v1::ModelVerdict& verdict : report.model_verdicts()) {
    if (verdict.outcome() != galen::v1::ModelVerdict::CONFIRMED || verdict.label().empty() ||
        !verdict.objection().empty()) {
      continue;
    }
    v1::ModelOpinion& opinion = *result.add_opinions();
    opinion.set_label(verdict.label());
    opinion.set_model(verdict.model());
    opinion.set_built_in(verdict.built_in());
  }
  result.set_headline(report.headline());
  if (report.has_primary_cause()) {
    *result.mutable_primary() = NameCause(report.primary_cause(), diagnosis);
  } else if (report.has_presumed_cause()) {
    *result.mutable_primary() = NameCause(report.presumed_cause(), diagnosis);
    result.mutable_primary()->set_presumed(true);
  }
  for (const auto& suspect : report.suspects()) {
    *result.add_suspects() = NameCause(suspect, diagnosis);
  }
  for (const auto& artefact : diagnosis.incident().artefacts()) {
    result.set_artefacts(result.artefacts() + 1);
    result.set_unread_artefacts(result.unread_artefacts() + (artefact.unread() ? 1 : 0));
  }
  for (const auto& cause : report.other_causes()) {
    *result.add_others() = NameCause(cause, diagnosis);
  }
  for (const auto& effect : report.secondary_effects()) result.add_secondary(effect.label());
  for (const Hypothesis& hypothesis : diagnosis.hypotheses()) {
    if (!hypothesis.has_verdict()) continue;
    v1::JudgedHypothesis& judged = *result.add_judged();
    judged = DescribeHypothesis(hypothesis);
    judged.set_entailed(IsEntailed(diagnosis, hypothesis.verdict(), knowledge));
  }
  for (const galen::v1::CheckResult& check : diagnosis.check_results()) {
    v1::CheckRun& run = *result.add_checks();
    run.set_check(check.check());
    run.set_node(check.node());
    run.set_status(galen::v1::CheckResult::Status_Name(check.status()));
    if (const auto* spec = knowledge.FindCheck(check.check()); spec != nullptr) {
      run.set_cost_seconds(Seconds(spec->cost()));
    }
  }
  return result;
}

}  // namespace galen::eval
