#ifndef COMMON_KNOWLEDGE_PROMPT_SLOTS_H_
#define COMMON_KNOWLEDGE_PROMPT_SLOTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::knowledge {

// The slots "{{slot}}" that Galen fills in the prompt of that name; the prompt must contain all of
// them. nullptr when no part of Galen uses that name.
struct PromptSlots {
  absl::string_view name;
  absl::Span<const absl::string_view> slots;
};
const PromptSlots* FindPromptSlots(absl::string_view name);
std::vector<absl::string_view> PromptNames();

// The names between "{{" and "}}", in their order, repeated ones too.
std::vector<std::string> SlotsIn(absl::string_view text);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_PROMPT_SLOTS_H_
