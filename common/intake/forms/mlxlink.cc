// mlxlink: `mlxlink` of MFT and mstflint as it prints tables (mlxlink/modules/mlxlink_ui.cpp), as
// with --json.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"

namespace galen::intake {
namespace {

constexpr std::size_t kMostLinkFields = 2000;

// "----------", below the heading of a section.
bool IsRule(absl::string_view line) {
  return line.size() >= 3 && line.find_first_not_of('-') == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<Converted> LinkTables(absl::string_view text, absl::string_view command) {
  nlohmann::json sections = nlohmann::json::object();
  std::string section;
  absl::string_view before;
  std::size_t fields = 0;
  for (const absl::string_view line : PastedLines(text)) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (IsRule(bare) && !before.empty() && !absl::StrContains(before, " : ")) {
      section = std::string(before);
    }
    before = bare;
    const std::size_t colon = bare.find(" : ");
    if (section.empty() || colon == absl::string_view::npos || ++fields > kMostLinkFields) continue;
    const std::string name(absl::StripAsciiWhitespace(bare.substr(0, colon)));
    const std::string value(absl::StripAsciiWhitespace(bare.substr(colon + 3)));
    if (absl::EndsWith(name, "[per lane]") && absl::StrContains(value, ',')) {
      sections[section][name] = {{"values", std::vector<std::string>(absl::StrSplit(value, ','))}};
    } else {
      sections[section][name] = value;
    }
  }
  if (sections.empty()) return Unreadable("mlxlink", "no section describes the link");
  Converted converted;
  converted.text = nlohmann::json({{"result", {{"output", std::move(sections)}}}})
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n";
  const TypedCommand typed(command, "mlxlink");
  converted.partial =
      typed.filtered() || !(typed.HasLetter('m') && typed.HasLetter('c') && typed.HasLetter('e'));
  return converted;
}

}  // namespace galen::intake
