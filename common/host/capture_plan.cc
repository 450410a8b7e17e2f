#include "common/host/capture_plan.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxPlan = std::size_t{1} << 20;

// The text between the first "<" and the ">" after it, or empty.
absl::string_view FirstPlaceholder(absl::string_view text) {
  const std::size_t open = text.find('<');
  if (open == absl::string_view::npos) return "";
  const std::size_t close = text.find('>', open);
  if (close == absl::string_view::npos) return "";
  return text.substr(open + 1, close - open - 1);
}

std::vector<std::string> ExpandBraces(absl::string_view text) {
  const std::size_t open = text.find('{');
  const std::size_t close = text.find('}', open == absl::string_view::npos ? 0 : open);
  if (open == absl::string_view::npos || close == absl::string_view::npos) {
    return {std::string(text)};
  }
  std::vector<std::string> all;
  for (const absl::string_view choice :
       absl::StrSplit(text.substr(open + 1, close - open - 1), ',')) {
    const std::string one = absl::StrCat(text.substr(0, open), choice, text.substr(close + 1));
    for (std::string& expanded : ExpandBraces(one)) all.push_back(std::move(expanded));
  }
  return all;
}

// Limit of the globs of an entry: each pair of braces multiplies them.
constexpr std::size_t kMostGlobs = 1000;
bool TooManyBraces(absl::string_view text) {
  std::size_t globs = 1;
  std::size_t choices = 1;
  bool inside = false;
  for (const char c : text) {
    if (c == '{') {
      inside = true;
    } else if (c == ',' && inside) {
      ++choices;
    } else if (c == '}') {
      globs *= choices;
      choices = 1;
      inside = false;
    }
    if (globs > kMostGlobs || choices > kMostGlobs) return true;
  }
  return false;
}

absl::Status ParseLine(absl::string_view line, CapturePlan& plan) {
  const std::pair<absl::string_view, absl::string_view> entry =
      absl::StrSplit(line, absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
  const absl::string_view rest = absl::StripAsciiWhitespace(entry.second);
  if (rest.empty()) return absl::InvalidArgumentError("the entry has no argument");
  const View view = absl::StartsWith(entry.first, "job-") ? View::kJob : View::kHost;
  if (entry.first == "run" || entry.first == "job-run") {
    plan.commands.push_back({absl::StrSplit(rest, ' ', absl::SkipEmpty()), view});
    return absl::OkStatus();
  }
  if (entry.first == "read" || entry.first == "job-read") {
    if (!absl::StartsWith(rest, "/")) {
      return absl::InvalidArgumentError("the path is not absolute; begin it with \"/\"");
    }
    GALEN_RETURN_IF_ERROR(CheckRelative(rest.substr(1)));
    if (TooManyBraces(rest)) {
      return absl::InvalidArgumentError(
          absl::StrCat("its braces stand for more than ", kMostGlobs, " paths; write \"*\""));
    }
    for (std::string& glob : ExpandBraces(rest)) plan.files.push_back({std::move(glob), view});
    return absl::OkStatus();
  }
  if (entry.first == "redact" || entry.first == "redact-path" || entry.first == "leave-out") {
    const std::pair<absl::string_view, absl::string_view> rule =
        absl::StrSplit(rest, absl::MaxSplits(' ', 1));
    const std::string kind = absl::StrReplaceAll(rule.first, {{"-", " "}});
    const absl::string_view what = absl::StripAsciiWhitespace(rule.second);
    if (what.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("write \"", entry.first,
                       entry.first == "leave-out" ? " WHY ENTRY\"" : " KIND PATTERN\""));
    }
    if (entry.first == "redact") return plan.redactor.AddPattern(kind, what);
    if (entry.first == "redact-path") return plan.paths.AddPattern(kind, what);
    plan.left_out.push_back({std::string(what), kind});
    return absl::OkStatus();
  }
  if (entry.first == "redact-variable") return plan.redactor.AddVariablePattern(rest);
  if (entry.first == "redact-not") return plan.redactor.AddException(rest);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", CleanText(entry.first, 64),
                   "\" is unknown; write run, read, job-run, job-read, redact, redact-variable, "
                   "redact-not, redact-path or leave-out"));
}

}  // namespace

absl::StatusOr<CapturePlan> ParseCapturePlan(absl::string_view text, absl::string_view file) {
  CapturePlan plan;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    if (const absl::Status parsed = ParseLine(line, plan); !parsed.ok()) {
      return absl::Status(parsed.code(), absl::StrCat(file, ":", number, ": ", parsed.message()));
    }
  }
  return plan;
}

absl::StatusOr<CapturePlan> LoadCapturePlan(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  GALEN_ASSIGN_OR_RETURN(const BundleFiles files, BundleFiles::Open(directory));
  bool truncated = false;
  GALEN_ASSIGN_OR_RETURN(
      const std::string text,
      files.Read(path.substr(slash == std::string::npos ? 0 : slash + 1), kMaxPlan, &truncated));
  if (truncated) {
    return absl::InvalidArgumentError(
        absl::StrCat(CleanText(path, 256), ": is longer than ", kMaxPlan, " bytes"));
  }
  return ParseCapturePlan(text, path);
}

std::vector<std::string> ExpandWord(absl::string_view word, const Placeholders& values) {
  std::vector<std::string> words;
  for (std::vector<std::string>& argv : ExpandCommand({std::string(word)}, values)) {
    words.push_back(std::move(argv.front()));
  }
  return words;
}

std::vector<std::vector<std::string>> ExpandCommand(const std::vector<std::string>& argv,
                                                    const Placeholders& values) {
  const std::string whole = absl::StrJoin(argv, " ");
  const absl::string_view name = FirstPlaceholder(whole);
  if (name.empty()) return {argv};
  const auto found = values.find(name);
  if (found == values.end()) return {};
  const std::string marker = absl::StrCat("<", name, ">");
  std::vector<std::vector<std::string>> all;
  for (const std::string& value : found->second) {
    // A value that looks like a placeholder itself would be replaced for ever.
    if (absl::StrContains(value, '<')) continue;
    std::vector<std::string> one;
    one.reserve(argv.size());
    for (const std::string& word : argv) {
      one.push_back(absl::StrReplaceAll(word, {{marker, value}}));
    }
    for (std::vector<std::string>& expanded : ExpandCommand(one, values)) {
      all.push_back(std::move(expanded));
    }
  }
  return all;
}

}  // namespace galen::host
