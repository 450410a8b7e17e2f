#include "services/conclusion/markdown.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace galen::conclusion {

std::string Inline(absl::string_view text, std::size_t max_bytes) {
  std::string line = CleanText(text, max_bytes);
  absl::StrReplaceAll({{"\n", " "},
                       {"\t", " "},
                       {"<", "&lt;"},
                       {"|", "\\|"},
                       {"[", "\\["},
                       {"`", "'"},
                       {"*", "\\*"}},
                      &line);
  absl::RemoveExtraAsciiWhitespace(&line);
  return line;
}

std::string Quote(absl::string_view text, std::size_t max_bytes) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  std::string quoted;
  for (const absl::string_view line : absl::StrSplit(CleanText(stripped, max_bytes), '\n')) {
    absl::StrAppend(&quoted, "> ", absl::StrReplaceAll(line, {{"<", "&lt;"}}), "\n");
  }
  return quoted;
}

std::string TicketPlaces(const galen::v1::Cause& cause, std::size_t most, bool serials) {
  std::vector<std::string> places;
  for (const galen::v1::Device& device : cause.devices()) {
    if (places.size() == most) {
      const auto more = static_cast<std::size_t>(cause.devices_size()) - most;
      places.push_back(absl::StrCat(more, " more"));
      break;
    }
    std::string place = device.device().empty() ? device.node()
                        : device.node().empty()
                            ? device.device()
                            : absl::StrCat(device.device(), " on ", device.node());
    if (!device.pci_address().empty()) absl::StrAppend(&place, " (", device.pci_address(), ")");
    if (serials && !device.serial().empty()) {
      absl::StrAppend(&place, ", serial ", device.serial());
    }
    places.push_back(Inline(place, 200));
  }
  return absl::StrJoin(places, ", ");
}

}  // namespace galen::conclusion
