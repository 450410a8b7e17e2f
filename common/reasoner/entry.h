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
  // The result that it was read from; nullptr: the check did not run.
  const galen::v1::CheckResult* result = nullptr;
  // The findings behind it: those that satisfy it if it is true, all of that name if it is false.
  // May be empty: a log without such an event.
  std::vector<const galen::v1::Finding*> findings;
  // The rule with unknown truth, itself or one of its conditions; nullptr: the truth is known.
  const knowledge::v1::Rule* untold = nullptr;
};

// Why the truth of the entry is unknown on that node, "<check>@<node>: why"; "": it is known.
std::string Missing(const Entry& entry, const EvidenceView& evidence, absl::string_view node);

// Both apply the rule's conditions (`with`) last: the truth of a rule that holds by itself is that
// of its least certain condition.
//
// A confirm rule needs one device that satisfies it. A finding without a value leaves it unknown
// unless another one satisfies it.
Entry EvaluateConfirm(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
                      const EvidenceView& evidence, absl::string_view node);

// Whether the confirm rule holds without its conditions.
bool SeesSign(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
              const EvidenceView& evidence, absl::string_view node);

// Whether a confirm entry is true while another device, or the same kind of device on another node,
// was read and does not satisfy the rule: a contrast. Never true for an event.
bool IsOnSome(const EvidenceView& evidence, const Entry& entry);

// There are two kinds of refute rules, distinguished by the values that satisfy them. A rule over
// abnormal values names another fault, and one device with it is enough. A rule over normal values
// is an all-clear ("all counters are zero"), which holds only if every device was read and
// satisfies it.
Entry EvaluateRefute(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
                     const EvidenceView& evidence, absl::string_view node);

// An all-clear over a part of an output: true if everything that the part tells satisfies the rule.
// Unknown if it tells nothing, if it is not a part, and for rules over abnormal values or with
// conditions.
Entry EvaluateRefuteByPart(const knowledge::Knowledge& knowledge, const knowledge::v1::Rule& rule,
                           const EvidenceView& evidence, absl::string_view node);

// How much a true confirm entry can prove. See docs/reasoner.md.
enum class Grade {
  // Also true on healthy machines (a version in use, a mode, a history): never proves anything.
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

// Whether the finding is marked abnormal, or breaks the limit that its check declares.
bool IsAbnormal(const knowledge::Knowledge& knowledge, absl::string_view check,
                const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// True for a check that reads only logs: its findings and signals from the same log are one
// witness, not two.
bool ReadsOnlyLogs(const knowledge::v1::Check& check);

// True for a check of the history family: general by the taxonomy's conventions.
bool IsGeneral(absl::string_view check);

// True for a check that a diagnosis runs by itself and that can prove something: not intrusive,
// without telemetry, and not of the history family.
bool IsAskedByItself(const knowledge::Knowledge& knowledge, absl::string_view name);

// The declared cost of a check in seconds; 0: the check is not in the knowledge.
double CostSeconds(const knowledge::Knowledge& knowledge, absl::string_view check);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_ENTRY_H_
