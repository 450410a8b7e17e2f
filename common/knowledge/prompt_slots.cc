#include "common/knowledge/prompt_slots.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kPreamble[] = {"categories"};
constexpr absl::string_view kRepair[] = {"error"};
constexpr absl::string_view kChoices[] = {"choices", "draft"};
constexpr absl::string_view kInvestigate[] = {"tools", "checks", "causes", "history", "draft"};
constexpr absl::string_view kSentBack[] = {"objections"};
constexpr absl::string_view kTicketAndChoices[] = {"choices", "ticket"};
constexpr absl::string_view kTicket[] = {"ticket"};

constexpr PromptSlots kPrompts[] = {
    {"preamble", kPreamble},
    {"repair", kRepair},
    // The questions of the reasoner.
    {"presume", kChoices},
    {"investigate", kInvestigate},
    {"investigate_again", kSentBack},
    {"investigate_last", {}},
    // Those of the curation of past tickets.
    {"ticket_label", kTicketAndChoices},
    {"ticket_group", kTicketAndChoices},
    {"ticket_steps", kTicket},
};

}  // namespace

const PromptSlots* FindPromptSlots(absl::string_view name) {
  for (const PromptSlots& prompt : kPrompts) {
    if (prompt.name == name) return &prompt;
  }
  return nullptr;
}

std::vector<absl::string_view> PromptNames() {
  std::vector<absl::string_view> names;
  for (const PromptSlots& prompt : kPrompts) names.push_back(prompt.name);
  return names;
}

std::vector<std::string> SlotsIn(absl::string_view text) {
  std::vector<std::string> slots;
  for (std::size_t at = text.find("{{"); at != absl::string_view::npos; at = text.find("{{", at)) {
    const std::size_t end = text.find("}}", at);
    if (end == absl::string_view::npos) {
      slots.emplace_back(text.substr(at + 2, 40));  // never closed: no slot has such a name
      return slots;
    }
    slots.emplace_back(text.substr(at + 2, end - at - 2));
    at = end + 2;
  }
  return slots;
}

}  // namespace galen::knowledge
