#include "common/reasoner/llm/contradiction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/knowledge/rules.h"

namespace galen::reasoner::llm {

std::string Contradiction(const knowledge::Knowledge& knowledge,
                          const galen::v1::EvidenceSet& evidence,
                          const galen::v1::Verdict& verdict) {
  const knowledge::v1::Label* const label = knowledge.FindLabel(verdict.label());
  if (label == nullptr || verdict.outcome() != galen::v1::Verdict::REJECTED) return "";
  for (const galen::v1::Reason& reason : verdict.reasons()) {
    if (reason.direction() != galen::v1::Reason::OPPOSES || !reason.has_finding()) continue;
    for (const std::string& id : reason.evidence_ids()) {
      const auto result = std::find_if(evidence.results().begin(), evidence.results().end(),
                                       [&](const auto& each) { return each.id() == id; });
      if (result == evidence.results().end()) continue;
      for (const knowledge::v1::Rule& rule : label->refute()) {
        if (rule.check() != result->check() || rule.finding() != reason.finding().name()) continue;
        if (knowledge::Compare(rule, reason.finding(), *result) == knowledge::Truth::kTrue) {
          return absl::StrCat(rule.observation(), " (", result->id(), ")");
        }
      }
    }
  }
  return "";
}

}  // namespace galen::reasoner::llm
