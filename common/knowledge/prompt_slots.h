#ifndef COMMON_KNOWLEDGE_PROMPT_SLOTS_H_
#define COMMON_KNOWLEDGE_PROMPT_SLOTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::knowledge {

// What Galen puts into the prompt of that name, in place of "{{slot}}"; every slot has to stand in
// it. Nothing for a name that no part of Galen asks by.
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
