#include "common/reasoner/explained.h"

#include <algorithm>
#include <optional>

#include "absl/time/time.h"
#include "common/base/proto_time.h"

namespace galen::reasoner {
namespace {

using galen::v1::Finding;
using galen::v1::Hypothesis;
using knowledge::v1::Label;

std::optional<absl::Time> TimeOf(const Finding& finding) {
  if (!finding.has_event_value() || !finding.event_value().has_time()) return std::nullopt;
  return ToTime(finding.event_value().time());
}

bool ConfirmsBy(const Label& leaf, const Finding& finding, const galen::v1::CheckResult& result) {
  return std::any_of(leaf.confirm().begin(), leaf.confirm().end(), [&](const auto& rule) {
    return rule.check() == result.check() && rule.finding() == finding.name() &&
           knowledge::Compare(rule, finding, result) == knowledge::Truth::kTrue;
  });
}

}  // namespace

std::vector<const Hypothesis*> Confirmed(
    const knowledge::Knowledge& knowledge,
    const google::protobuf::RepeatedPtrField<Hypothesis>& judged) {
  std::vector<const Hypothesis*> confirmed;
  for (const Hypothesis& each : judged) {
    if (each.status() != Hypothesis::CONFIRMED || knowledge.FindLabel(each.label()) == nullptr) {
      continue;
    }
    const bool twice =
        std::any_of(confirmed.begin(), confirmed.end(),
                    [&](const Hypothesis* other) { return other->label() == each.label(); });
    if (!twice) confirmed.push_back(&each);
  }
  return confirmed;
}

bool WasJudged(const google::protobuf::RepeatedPtrField<Hypothesis>& judged,
               absl::string_view label) {
  return std::any_of(judged.begin(), judged.end(), [&](const Hypothesis& each) {
    return each.label() == label && each.has_verdict();
  });
}

bool ComesBefore(const Case& the_case, const Label& leaf, const Finding& finding,
                 const galen::v1::CheckResult& result) {
  const std::optional<absl::Time> time = TimeOf(finding);
  if (!time.has_value()) return false;
  bool logged = false;
  for (const EvidenceView::Event& event : the_case.evidence.events()) {
    if (event.result->node() != result.node()) continue;
    const std::optional<absl::Time> own = TimeOf(*event.finding);
    if (!own.has_value() || !ConfirmsBy(leaf, *event.finding, *event.result)) continue;
    if (*own <= *time) return false;
    logged = true;
  }
  return logged;
}

bool Explains(const Case& the_case, const Label& leaf, const Finding& finding,
              const galen::v1::CheckResult& result) {
  if (ConfirmsBy(leaf, finding, result)) return true;
  // No effect comes before its cause.
  if (ComesBefore(the_case, leaf, finding, result)) return false;
  const std::string effect = EffectName(finding);
  if (!effect.empty() && ListsEffect(leaf, effect)) return true;
  const RuleIndex::Labels& others = the_case.index.Confirming(result.check(), finding.name());
  return std::any_of(others.begin(), others.end(), [&](const Label* other) {
    return ListsEffect(leaf, other->label()) && ConfirmsBy(*other, finding, result);
  });
}

bool NamesAnother(const Case& the_case, const Label& leaf, const Entry& refutation) {
  return std::any_of(refutation.findings.begin(), refutation.findings.end(), [&](const auto* each) {
    const galen::v1::CheckResult& result = *refutation.result;
    if (!IsAbnormal(the_case.knowledge, result.check(), *each, result)) return false;
    const RuleIndex::Labels& others = the_case.index.Confirming(result.check(), each->name());
    return std::any_of(others.begin(), others.end(), [&](const Label* other) {
      return other != &leaf &&
             std::any_of(other->confirm().begin(), other->confirm().end(), [&](const auto& rule) {
               return !rule.context() && rule.check() == result.check() &&
                      rule.finding() == each->name() &&
                      knowledge::Compare(rule, *each, result) == knowledge::Truth::kTrue;
             });
    });
  });
}

bool Explains(const Case& the_case, const Label& leaf, const galen::v1::Signal& signal) {
  static_cast<void>(the_case);
  return std::any_of(signal.labels().begin(), signal.labels().end(), [&](const std::string& label) {
    return label == leaf.label() || ListsEffect(leaf, label);
  });
}

}  // namespace galen::reasoner
