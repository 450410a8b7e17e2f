#include "services/cli/top/screen.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/time_text.h"

namespace galen::cli::top {
namespace {

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

// Rows of cells below each other, as wide as their widest; the last column ends where the terminal
// does. Columns whose heading begins with ">" are aligned to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) {
    std::vector<Cell> row;
    for (std::string& heading : headings) {
      const bool right = heading.front() == '>';
      right_.push_back(right);
      row.push_back({right ? heading.substr(1) : std::move(heading), Colour::kDim});
    }
    rows_.push_back(std::move(row));
  }
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  std::vector<std::string> Lines(const Terminal& terminal) const {
    std::vector<std::size_t> widths(right_.size());
    for (const std::vector<Cell>& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], Columns(row[i].text));
      }
    }
    std::vector<std::string> lines;
    for (const std::vector<Cell>& row : rows_) lines.push_back(LineOf(row, widths, terminal));
    return lines;
  }

 private:
  std::string LineOf(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                     const Terminal& terminal) const {
    std::string line;
    auto room = static_cast<std::size_t>(terminal.width);
    for (std::size_t i = 0; i < row.size() && room > 0; ++i) {
      const bool last = i + 1 == row.size();
      const std::string text = Shorten(row[i].text, room);
      const std::size_t used = Columns(text);
      const std::size_t width = std::min(widths[i], room);
      const std::string gap(width > used ? width - used : 0, ' ');
      if (right_[i]) line += gap;
      absl::StrAppend(&line, Paint(terminal, row[i].colour, text));
      room -= std::max(used, right_[i] || !last ? width : used);
      if (last) break;
      if (!right_[i]) line += gap;
      const std::size_t between = std::min<std::size_t>(2, room);
      line.append(between, ' ');
      room -= between;
    }
    return line;
  }

  std::vector<bool> right_;
  std::vector<std::vector<Cell>> rows_;
};

std::string AgeText(absl::Duration age) {
  const double seconds = absl::ToDoubleSeconds(age);
  if (seconds < 10) return absl::StrFormat("%.1fs", seconds);
  if (seconds < 600) return absl::StrFormat("%.0fs", seconds);
  if (seconds < 36'000) return absl::StrFormat("%.0fm", seconds / 60);
  return absl::StrFormat("%.0fh", seconds / 3600);
}

std::string TimeText(std::optional<double> seconds) {
  if (!seconds.has_value()) return "-";
  if (*seconds < 0.001) return absl::StrFormat("%.2fms", *seconds * 1e3);
  if (*seconds < 1) return absl::StrFormat("%.0fms", *seconds * 1e3);
  return absl::StrFormat("%.1fs", *seconds);
}

std::string RateText(double rate) {
  return rate < 100 ? absl::StrFormat("%.1f", rate) : absl::StrFormat("%.0f", rate);
}

Colour ColourOf(const std::string& state) {
  if (state == "SUCCEEDED") return Colour::kGreen;
  if (state == "FAILED") return Colour::kRed;
  if (state == "RUNNING") return Colour::kBlue;
  if (state == "AWAITING_FEEDBACK" || state == "ESCALATED") return Colour::kYellow;
  return Colour::kNone;
}

std::vector<std::string> ServiceLines(const Snapshot& snapshot, const Terminal& terminal) {
  Table table({"SERVICE", ">CALLS/S", ">ERRORS/S", ">IN FLIGHT", ">P50", ">P99"});
  for (const ServiceRow& row : snapshot.services) {
    table.Add({{row.service},
               {RateText(row.calls)},
               {RateText(row.errors), row.errors > 0 ? Colour::kRed : Colour::kNone},
               {absl::StrFormat("%.0f", row.in_flight)},
               {TimeText(row.p50)},
               {TimeText(row.p99)}});
  }
  return table.Lines(terminal);
}

std::vector<std::string> ProgramLines(const Snapshot& snapshot, const Terminal& terminal) {
  Table table({"PROGRAM", ">CPU", ">MEMORY", ">QUEUED", ""});
  for (const ProgramRow& row : snapshot.programs) {
    if (!row.trouble.empty()) {
      table.Add({{row.address}, {"-"}, {"-"}, {"-"}, {row.trouble, Colour::kRed}});
      continue;
    }
    table.Add({{row.address},
               {absl::StrFormat("%.0f%%", row.processors * 100)},
               {absl::StrFormat("%.0f MiB", row.memory / (1 << 20))},
               {absl::StrFormat("%.0f", row.queued)},
               {""}});
  }
  return table.Lines(terminal);
}

std::vector<std::string> DiagnosisLines(const Snapshot& snapshot, const Terminal& terminal) {
  Table table({"DIAGNOSIS", "TENANT", "STATE", ">AGE", ">CHECKS", "STEP OR CAUSE"});
  for (const DiagnosisRow& row : snapshot.diagnoses) {
    table.Add({{row.name},
               {row.tenant},
               {row.state, ColourOf(row.state)},
               {AgeText(row.age)},
               {row.pending_checks == 0 ? "-" : absl::StrCat(row.pending_checks)},
               {row.step.empty() ? row.cause : row.step}});
  }
  return table.Lines(terminal);
}

}  // namespace

std::string ScreenOf(const Snapshot& snapshot, const Terminal& terminal, int most_lines) {
  std::vector<std::string> lines = {
      Shorten(absl::StrFormat("galen top  %s  running %.0f  waiting %.0f  refused %s/s",
                              absl::FormatTime("%H:%M:%SZ", snapshot.time, absl::UTCTimeZone()),
                              snapshot.running, snapshot.waiting, RateText(snapshot.shed)),
              static_cast<std::size_t>(terminal.width))};
  const auto add = [&lines](const std::vector<std::string>& more) {
    lines.emplace_back();
    lines.insert(lines.end(), more.begin(), more.end());
  };
  if (!snapshot.services.empty()) add(ServiceLines(snapshot, terminal));
  if (!snapshot.programs.empty()) add(ProgramLines(snapshot, terminal));
  if (!snapshot.diagnoses_trouble.empty()) {
    add({Paint(terminal, Colour::kRed,
               Shorten(absl::StrCat("no diagnoses: ", snapshot.diagnoses_trouble),
                       static_cast<std::size_t>(terminal.width)))});
  } else {
    add(DiagnosisLines(snapshot, terminal));
  }
  if (most_lines > 0 && lines.size() > static_cast<std::size_t>(most_lines)) {
    lines.resize(static_cast<std::size_t>(most_lines));
  }
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

std::string JsonOf(const Snapshot& snapshot) {
  using nlohmann::json;
  const auto or_null = [](std::optional<double> value) {
    return value.has_value() ? json(*value) : json(nullptr);
  };
  json all = {{"time", galen::TimeText(snapshot.time, 3)},
              {"running", snapshot.running},
              {"waiting", snapshot.waiting},
              {"refused_per_second", snapshot.shed},
              {"diagnoses", json::array()},
              {"services", json::array()},
              {"programs", json::array()}};
  if (!snapshot.diagnoses_trouble.empty()) all["diagnoses_error"] = snapshot.diagnoses_trouble;
  for (const DiagnosisRow& row : snapshot.diagnoses) {
    all["diagnoses"].push_back({{"id", row.name},
                                {"tenant", row.tenant},
                                {"state", row.state},
                                {"age_seconds", absl::ToDoubleSeconds(row.age)},
                                {"steps", row.step},
                                {"pending_checks", row.pending_checks},
                                {"cause", row.cause},
                                {"trace_id", row.trace_id}});
  }
  for (const ServiceRow& row : snapshot.services) {
    all["services"].push_back({{"service", row.service},
                               {"calls_per_second", row.calls},
                               {"errors_per_second", row.errors},
                               {"in_flight", row.in_flight},
                               {"p50_seconds", or_null(row.p50)},
                               {"p99_seconds", or_null(row.p99)}});
  }
  for (const ProgramRow& row : snapshot.programs) {
    json program = {{"address", row.address},
                    {"processors", row.processors},
                    {"memory_bytes", row.memory},
                    {"queued", row.queued}};
    if (!row.trouble.empty()) program["error"] = row.trouble;
    all["programs"].push_back(std::move(program));
  }
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace galen::cli::top
