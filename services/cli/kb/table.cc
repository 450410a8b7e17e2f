#include "services/cli/kb/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::cli {

std::string Table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows, const Terminal& terminal) {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const std::string& title : head) {
    titles.push_back(absl::StartsWith(title, ">") ? title.substr(1) : title);
    widths.push_back(Columns(titles.back()));
  }
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], Columns(row[i]));
    }
  }
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const std::string gap(i == 0 ? 0 : 2, ' ');
      if (absl::StartsWith(head[i], ">")) {
        absl::StrAppend(&line, gap, std::string(widths[i] - Columns(cells[i]), ' '), cells[i]);
      } else {
        absl::StrAppend(&line, gap, Pad(cells[i], widths[i]));
      }
    }
    absl::StripTrailingAsciiWhitespace(&line);
    return terminal.interactive ? Shorten(line, static_cast<std::size_t>(terminal.width)) : line;
  };
  std::string text = absl::StrCat(Paint(terminal, Colour::kBold, line_of(titles)), "\n");
  for (const std::vector<std::string>& row : rows) absl::StrAppend(&text, line_of(row), "\n");
  return text;
}

}  // namespace galen::cli
