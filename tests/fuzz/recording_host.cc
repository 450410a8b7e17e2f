#include "tests/fuzz/recording_host.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <ios>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/fuzz/fuzz_host.h"

namespace galen::fuzz {
namespace {

// Limits for the matches of a pattern, so that the answers read for each of them fit too.
constexpr std::size_t kMostPaths = 2;
constexpr std::size_t kMostVariables = 12;
// Limit for one file or output; JSON is read completely.
constexpr std::size_t kMostRead = std::size_t{96} << 10;

bool MatchStars(absl::string_view pattern, absl::string_view path,
                std::vector<std::string>& stars) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == '*') {
    for (std::size_t length = 0; length <= path.size(); ++length) {
      if (MatchStars(pattern.substr(1), path.substr(length), stars)) {
        stars.insert(stars.begin(), std::string(path.substr(0, length)));
        return true;
      }
      if (length < path.size() && path[length] == '/') break;
    }
    return false;
  }
  if (path.empty()) return false;
  if (pattern[0] == '?') return MatchStars(pattern.substr(1), path.substr(1), stars);
  if (pattern[0] == '[') {
    const std::size_t end = pattern.find(']');
    return end != absl::string_view::npos &&
           MatchStars(pattern.substr(end + 1), path.substr(1), stars);
  }
  return pattern[0] == path[0] && MatchStars(pattern.substr(1), path.substr(1), stars);
}

// Removes the largest section without sections in it, of lines with one tag or one value each.
// False if there is none but the GPU itself.
bool DropSection(std::vector<absl::string_view>& lines) {
  std::size_t begin = 0;  // where the last section opened
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t most = 0;
  std::size_t bytes = 0;  // since `begin`
  bool open = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bytes += lines[i].size();
    if (absl::StartsWith(lines[i], "</")) {
      if (open && bytes > most && !absl::StartsWith(lines[i], "</gpu>")) {
        first = begin;
        last = i;
        most = bytes;
      }
      open = false;
    } else if (absl::StartsWith(lines[i], "<") && !absl::StrContains(lines[i], "</")) {
      begin = i;
      bytes = lines[i].size();
      open = true;
    }
  }
  if (most == 0) return false;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first),
              lines.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  return true;
}

// An nvidia-smi report with its first GPU alone, without indentation and missing values; without
// whole sections if it is still too long.
std::string FirstGpu(absl::string_view xml, std::size_t limit) {
  std::string text(xml.substr(0, xml.find("</gpu>")));
  const std::size_t clocks = text.find("<supported_clocks>");
  const std::string clocks_end = "</supported_clocks>";
  if (const std::size_t end = text.find(clocks_end); clocks < end && end != std::string::npos) {
    text.erase(clocks, end + clocks_end.size() - clocks);
  }
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (line.empty() || absl::StrContains(line, ">N/A<") || absl::StartsWith(line, "<!DOCTYPE")) {
      continue;
    }
    lines.push_back(line);
  }
  lines.insert(lines.end(), {"</gpu>", "</nvidia_smi_log>"});
  std::string report = absl::StrJoin(lines, "\n");
  while (report.size() > limit && DropSection(lines)) report = absl::StrJoin(lines, "\n");
  return report.substr(0, limit);
}

void KeepFirst(nlohmann::json& value, std::size_t elements, std::size_t letters) {
  if (value.is_array() && value.size() > elements) {
    value.erase(value.begin() + static_cast<std::ptrdiff_t>(elements), value.end());
  }
  if (value.is_string()) {
    std::string& text = value.get_ref<std::string&>();
    text.resize(std::min(text.size(), letters));
  } else if (value.is_structured()) {
    for (nlohmann::json& part : value) KeepFirst(part, elements, letters);
  }
}

// Empty if the text is not JSON, or cannot be made that short.
std::string ShortJson(absl::string_view text, std::size_t limit) {
  const nlohmann::json whole = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                                     /*allow_exceptions=*/false);
  if (whole.is_discarded()) return "";
  for (const std::size_t elements : {std::size_t{4}, std::size_t{2}, std::size_t{1}}) {
    nlohmann::json shorter = whole;
    KeepFirst(shorter, elements, 24 * elements);
    std::string shown = shorter.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (shown.size() <= limit) return shown;
  }
  return "";
}

bool TellsOfFault(absl::string_view line) {
  static constexpr std::array<absl::string_view, 14> kWords = {
      "error", "fail",  "warn", "xid",     "fatal", "killed", "timeout",
      "panic", "abort", "down", "timed o", "nccl",  "oom",    "hardware"};
  const std::string lower = absl::AsciiStrToLower(line);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

std::string ShortLines(absl::string_view text, std::size_t limit) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::set<std::size_t> kept;
  std::size_t bytes = 0;
  const auto keep = [&](std::size_t i, std::size_t most) {
    if (bytes + lines[i].size() + 1 > most || !kept.insert(i).second) return;
    bytes += lines[i].size() + 1;
  };
  keep(0, limit);  // often names of columns
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (TellsOfFault(lines[i])) keep(i, limit / 2);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) keep(i, limit);
  std::string shown;
  for (const std::size_t i : kept) absl::StrAppend(&shown, lines[i], "\n");
  // One line that is longer than all that fits.
  return shown.empty() ? std::string(text.substr(0, limit)) : shown;
}

}  // namespace

std::string StarsOfPath(absl::string_view pattern, absl::string_view path) {
  std::vector<std::string> stars;
  MatchStars(pattern, path, stars);
  return absl::StrJoin(stars, "/");
}

std::string Shortened(absl::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  if (absl::StrContains(text.substr(0, 512), "nvidia_smi_log")) {
    return FirstGpu(text.substr(0, kMostRead), limit);
  }
  const absl::string_view stripped = absl::StripLeadingAsciiWhitespace(text);
  if (!stripped.empty() && (stripped[0] == '{' || stripped[0] == '[')) {
    if (std::string shown = ShortJson(stripped, limit); !shown.empty()) return shown;
  }
  return ShortLines(text.substr(0, kMostRead), limit);
}

std::string RecordingHost::answers() const {
  // A missing answer means the same as one that was not captured.
  const std::size_t last = answers_.find_last_not_of(FuzzHost::kEndOfAnswer);
  return last == std::string::npos ? "" : answers_.substr(0, last + 1);
}

std::string RecordingHost::Note(std::string answer) const {
  std::replace(answer.begin(), answer.end(), FuzzHost::kEndOfAnswer, ' ');
  absl::StrAppend(&answers_, answer, std::string(1, FuzzHost::kEndOfAnswer));
  return answer;
}

std::string RecordingHost::Note(char kind, absl::string_view text) const {
  return Note(absl::StrCat(std::string(1, kind), Shortened(text, answer_bytes_)));
}

std::string RecordingHost::Note(const absl::Status& status) const {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return Note("n");
    case absl::StatusCode::kPermissionDenied:
      return Note("p");
    case absl::StatusCode::kDeadlineExceeded:
      return Note("t");
    default:
      return Note("");
  }
}

std::string RecordingHost::Real(absl::string_view path) const {
  for (const auto& [ours, theirs] : real_) {
    if (path == ours || absl::StartsWith(path, absl::StrCat(ours, "/"))) {
      return absl::StrCat(theirs, path.substr(ours.size()));
    }
  }
  return std::string(path);
}

absl::StatusOr<host::CommandResult> RecordingHost::Run(absl::Span<const std::string> argv,
                                                       host::View view) const {
  absl::StatusOr<host::CommandResult> result = host_.Run(argv, view);
  if (absl::IsUnavailable(result.status()) && argv.size() > 2) {
    // A command that Captured() synthesised represents the captured ones.
    const auto captured = host_.Captured(argv.subspan(0, argv.size() - 2), view);
    if (argv.back() == "-P" && !captured.empty()) result = host_.Run(captured.front(), view);
  }
  if (!result.ok()) return FuzzHost(Note(result.status())).Run(argv, view);
  if (result->exit_code == 0) return FuzzHost(Note('+', result->out)).Run(argv, view);
  return FuzzHost(Note('x', result->out.empty() ? result->err : result->out)).Run(argv, view);
}

absl::StatusOr<std::string> RecordingHost::ReadFile(absl::string_view path, host::View view) const {
  const absl::StatusOr<std::string> text = host_.ReadFile(Real(path), view);
  return FuzzHost(text.ok() ? Note('+', *text) : Note(text.status())).ReadFile(path, view);
}

absl::StatusOr<std::vector<std::string>> RecordingHost::Glob(absl::string_view pattern,
                                                             host::View view) const {
  const absl::StatusOr<std::vector<std::string>> paths = host_.Glob(Real(pattern), view);
  if (!paths.ok()) return FuzzHost(Note(paths.status())).Glob(pattern, view);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(paths->size(), kMostPaths); ++i) {
    // An empty line would not be an entry.
    const std::string stars = StarsOfPath(Real(pattern), (*paths)[i]);
    lines.push_back(stars.empty() ? "0" : stars);
    const auto shown = FuzzHost(absl::StrCat("+", lines.back())).Glob(pattern, view);
    const std::vector<std::string> ours = absl::StrSplit(shown->front(), '/');
    const std::vector<std::string> theirs = absl::StrSplit((*paths)[i], '/');
    std::size_t end = std::min(ours.size(), theirs.size());
    while (end > 0 && ours[end - 1] == theirs[end - 1]) --end;
    if (end == 0) continue;
    const auto until_end = [&](const std::vector<std::string>& parts) {
      return absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(end), "/");
    };
    real_.emplace(until_end(ours), until_end(theirs));
  }
  return FuzzHost(Note('+', absl::StrJoin(lines, "\n"))).Glob(pattern, view);
}

absl::StatusOr<std::map<std::string, std::string>> RecordingHost::JobEnvironment() const {
  const absl::StatusOr<std::map<std::string, std::string>> all = host_.JobEnvironment();
  if (!all.ok()) return FuzzHost(Note(all.status())).JobEnvironment();
  // The ones that checks read first.
  std::vector<std::string> lines;
  for (const bool nccl : {true, false}) {
    for (const auto& [name, value] : *all) {
      if (absl::StartsWith(name, "NCCL_") != nccl || lines.size() >= kMostVariables) continue;
      lines.push_back(absl::StrCat(name, "=", absl::StrJoin(absl::StrSplit(value, '\n'), " ")));
    }
  }
  return FuzzHost(Note('+', absl::StrJoin(lines, "\n"))).JobEnvironment();
}

absl::StatusOr<std::vector<host::JobLog>> RecordingHost::JobLogs() const {
  const absl::StatusOr<std::vector<host::JobLog>> logs = host_.JobLogs();
  if (!logs.ok()) return FuzzHost(Note(logs.status())).JobLogs();
  gave_log_ = log_ < logs->size();
  std::ifstream file((*logs)[gave_log_ ? log_ : 0].path, std::ios::binary | std::ios::ate);
  // Its end, where it says how the job ended.
  const std::streamoff end = file.tellg();
  file.seekg(std::max<std::streamoff>(0, end - static_cast<std::streamoff>(kMostRead)));
  std::string text(kMostRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return FuzzHost(Note('+', text)).JobLogs();
}

std::vector<std::vector<std::string>> RecordingHost::Captured(absl::Span<const std::string> prefix,
                                                              host::View view) const {
  return FuzzHost("").Captured(prefix, view);
}

}  // namespace galen::fuzz
