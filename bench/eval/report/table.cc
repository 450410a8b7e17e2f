#include "bench/eval/report/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/cli/terminal.h"

namespace galen::eval {
namespace {

std::string Line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t columns = cli::Columns(cells[i]);
    const std::string padding(widths[i] - std::min(widths[i], columns), ' ');
    if (i == 0) {
      absl::StrAppend(&line, " ", cells[i], padding);
    } else {
      absl::StrAppend(&line, "  ", padding, cells[i]);
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return absl::StrCat(line, "\n");
}

}  // namespace

std::string TableText(const Table& table) {
  std::vector<std::size_t> widths(table.headings.size(), 0);
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], cli::Columns(cells[i]));
    }
  };
  widen(table.headings);
  for (const auto& row : table.rows) widen(row);
  std::string text = absl::StrCat(table.title, "\n", Line(table.headings, widths));
  for (const auto& row : table.rows) absl::StrAppend(&text, Line(row, widths));
  if (!table.note.empty()) absl::StrAppend(&text, "  ", table.note, "\n");
  return text;
}

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string TableHtml(const Table& table) {
  std::string html = absl::StrCat("<h2>", EscapeHtml(table.title), "</h2>\n<table>\n<tr>");
  for (const std::string& heading : table.headings) {
    absl::StrAppend(&html, "<th>", EscapeHtml(heading), "</th>");
  }
  html += "</tr>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) absl::StrAppend(&html, "<td>", EscapeHtml(cell), "</td>");
    html += "</tr>\n";
  }
  html += "</table>\n";
  if (!table.note.empty()) absl::StrAppend(&html, "<p>", EscapeHtml(table.note), "</p>\n");
  return html;
}

}  // namespace galen::eval
