#ifndef COMMON_KNOWLEDGE_RULES_H_
#define COMMON_KNOWLEDGE_RULES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// The truth of a condition, which may be unknown. Unknown is never false.
enum class Truth { kFalse, kTrue, kUnknown };

// Whether `finding` (of the rule's name) satisfies the rule's condition. `result` is its check
// result, from which references ("expected", another finding of the same check) are resolved for
// the same subject. Unknown when the finding has no value or a reference cannot be resolved.
//
// Numbers compare as numbers, versions ("535.161.08") part by part, bools as true/false, enums and
// text without regard to case; IN and NOT_IN take a list separated by commas; an event compares by
// its code; "none" is the empty text. Pure.
Truth Compare(const v1::Rule& rule, const galen::v1::Finding& finding,
              const galen::v1::CheckResult& result);

// "true", "17", "48", ... : the value as shown to people; "unknown" when there is none.
std::string ValueText(const galen::v1::Finding& finding);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_RULES_H_
