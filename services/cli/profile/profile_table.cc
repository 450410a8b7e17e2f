#include "services/cli/profile/profile_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/terminal.h"

namespace galen::cli {

std::string Time(double seconds) {
  if (seconds >= 100) return absl::StrFormat("%.0f s", seconds);
  if (seconds >= 1) return absl::StrFormat("%.3g s", seconds);
  if (seconds >= 0.1) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds >= 1e-3) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g us", seconds * 1e6);
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::vector<std::string> Table::Lines() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - Columns(row[i]), ' ');
      // The first column is a name.
      absl::StrAppend(&line, i == 0 ? row[i] : "", space, i == 0 ? "" : row[i],
                      i + 1 < row.size() ? "  " : "");
    }
    lines.emplace_back(absl::StripTrailingAsciiWhitespace(line));
  }
  return lines;
}

}  // namespace galen::cli
