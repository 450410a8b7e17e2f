#ifndef COMMON_REASONER_ENTRY_H_
#define COMMON_REASONER_ENTRY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/rules.h"
#include "common/reasoner/evidence_view.h"

namespace galen::reasoner {

// One confirm or refute rule of a leaf, evaluated on one node.
struct Entry {
  const knowledge::v1::Rule* rule = nullptr;
  knowledge::Truth truth = knowledge::Truth::kUnknown;
  // The result it was read from; nullptr when the check was not asked.
  const galen::v1::CheckResult* result = nullptr;
  // The findings it rests on: those that satisfy it when it is true, all of that name when it is
  // false. May be empty: a log without such an event.
  std::vector<const galen::v1::Finding*> findings;
  // The rule that cannot be told, itself or one of its conditions; nullptr when the truth is known.
  const knowledge::v1::Rule* untold = nullptr;
};

// Why the truth of the entry is unknown on that node, "<check>@<node>: why"; "" when it is known.
std::string Missing(const Entry& entry, const EvidenceView& evidence, absl::string_view node);

// Both apply the rule's conditions (`with`) last: a rule that is true by itself is as true as the
// least certain of them.
//
// A confirm rule asks for one device that satisfies it. A finding without value leaves it unknown
// unless another one satisfies it.
Entry EvaluateConfirm(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
                      const EvidenceView& evidence, absl::string_view node);

// SeesSign leaves the conditions of a confirm rule aside.
bool SeesSign(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
              const EvidenceView& evidence, absl::string_view node);

// A confirm entry that is true, while another device, or the same kind of device on another node,
// was read and does not satisfy the rule: a contrast. Never of an event.
bool IsOnSome(const EvidenceView& evidence, const Entry& entry);

// A refute rule is of one of two kinds, told apart by the values that satisfy it. Over abnormal
// values it names another fault, and one device that has it is enough. Over normal values it is an
// all-clear ("all counters are zero"), which holds only when every device was read and satisfies
// it.
Entry EvaluateRefute(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
                     const EvidenceView& evidence, absl::string_view node);

// How much a true confirm entry can prove. See docs/reasoner.md.
enum class Grade {
  // True of healthy machines as well (a version in use, a mode, a history): never proves anything.
  kContext,
  // Breaks the limit that its check declares, or is a logged event, or the check declares no
  // limits.
  kEvidence,
};

// The grade of a finding that satisfies a confirm rule. General checks (the history family) and
// findings within their declared limits are context; so is a finding without a limit when its check
// declares limits for others.
Grade GradeOf(const knowledge::Knowledge& knowledge, const galen::v1::Finding& finding,
              const galen::v1::CheckResult& result);

// The finding says so itself, or breaks the limit that its check declares.
bool IsAbnormal(const knowledge::Knowledge& knowledge, absl::string_view check,
                const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// True for a check that sees nothing but logs: what it finds there and a signal from there are one
// witness, not two.
bool ReadsOnlyLogs(const knowledge::v1::Check& check);

// True for a check of the history family: general by the taxonomy's conventions.
bool IsGeneral(absl::string_view check);

// True for a check that a diagnosis asks by itself and that can prove something: no intrusive one,
// none that needs telemetry, none of the history family.
bool IsAskedByItself(const knowledge::Knowledge& knowledge, absl::string_view name);

// The declared cost of a check in seconds; 0 for one that the knowledge does not have.
double CostSeconds(const knowledge::Knowledge& knowledge, absl::string_view check);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_ENTRY_H_
