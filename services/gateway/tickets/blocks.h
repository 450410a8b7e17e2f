#ifndef SERVICES_GATEWAY_TICKETS_BLOCKS_H_
#define SERVICES_GATEWAY_TICKETS_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::gateway::tickets {

// A piece of a ticket's text, independent of the ticket system's form. All text is foreign: it may
// hold anything but invalid UTF-8 and control characters.
struct Block {
  enum class Kind : std::uint8_t { kHeading, kText, kItem, kCode, kLink };
  Kind kind = Kind::kText;
  std::string text;
  std::string lead;  // kText, kItem: precedes it, in bold
  std::string url;   // kLink
};

enum class Form : std::uint8_t { kPlain, kMarkdown, kSlack, kHtml, kAdf };
std::optional<Form> ParseForm(absl::string_view name);

// The blocks as text of at most `most` bytes, written so that nothing in them is taken for markup,
// a mention or a marker of ours. If they do not fit, blocks are omitted from the end, and a
// sentence says so. kAdf (Atlassian's document format) is an object, the others are text. Pure.
nlohmann::ordered_json Render(const std::vector<Block>& blocks, Form form, std::size_t most);

// One piece of foreign text within text of a form. kAdf: as it is. Pure.
std::string Escape(absl::string_view text, Form form);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_BLOCKS_H_
