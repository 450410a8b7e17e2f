#include "common/reasoner/llm/lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/knowledge/rules.h"

namespace galen::reasoner::llm {
namespace {

constexpr std::size_t kMostFindings = 400;
constexpr std::size_t kMostDevices = 8;  // of one line

std::string OneLine(absl::string_view text, std::size_t most) {
  std::string line = CleanText(text, most);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &line);
  return line;
}

// A finding as text, without its device.
std::string SaidBy(const galen::v1::Finding& finding) {
  std::string text = absl::StrCat(finding.name(), " ", knowledge::ValueText(finding));
  if (finding.has_event_value() && !finding.event_value().text().empty()) {
    absl::StrAppend(&text, " \"", finding.event_value().text(), "\" (",
                    finding.event_value().count(), " times)");
  }
  if (!finding.unit().empty()) absl::StrAppend(&text, " ", finding.unit());
  if (!finding.expected().empty()) absl::StrAppend(&text, " (expected ", finding.expected(), ")");
  if (finding.abnormal()) absl::StrAppend(&text, ", abnormal");
  return text;
}

std::string WithDevices(std::string text, const std::vector<std::string>& devices) {
  if (devices.empty()) return text;
  const std::size_t shown = std::min(devices.size(), kMostDevices);
  absl::StrAppend(
      &text, ", of ",
      absl::StrJoin(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (devices.size() > shown) {
    absl::StrAppend(&text, " and ", devices.size() - shown, " more");
  }
  return text;
}

// Equal findings with their devices.
struct Group {
  std::string text;
  std::string name;
  bool abnormal = false;
  std::vector<std::string> devices;
};

}  // namespace

std::string FeedbackName(int number) { return absl::StrCat("feedback/", number); }

std::vector<std::string> NamesByComma(absl::string_view text) {
  std::vector<std::string> names;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(name);
    if (!bare.empty()) names.emplace_back(bare);
  }
  return names;
}

std::vector<std::string> LinesOfText(absl::string_view text, std::size_t most_line) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    lines.push_back(OneLine(line, most_line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> LinesOfResult(const galen::v1::CheckResult& result) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> by_text;
  std::map<std::string, std::set<std::string>> values;  // of each name
  std::set<std::string> unknown;
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.value_case() == galen::v1::Finding::VALUE_NOT_SET && !finding.abnormal()) {
      unknown.insert(finding.name());
      continue;
    }
    const std::string text = SaidBy(finding);
    values[finding.name()].insert(text);
    const auto [place, is_new] = by_text.emplace(text, groups.size());
    if (is_new) groups.push_back({text, finding.name(), finding.abnormal(), {}});
    if (!finding.subject().device().empty()) {
      groups[place->second].devices.push_back(finding.subject().device());
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    const auto key = [&](const Group& each) {
      return std::pair(!each.abnormal, values[each.name].size() < 2);
    };
    return key(a) < key(b);
  });
  std::vector<std::string> lines;
  lines.push_back(OneLine(absl::StrCat(galen::v1::CheckResult::Status_Name(result.status()),
                                       result.message().empty() ? "" : ": ", result.message()),
                          kMostLine));
  for (const Group& group : groups) {
    if (lines.size() > kMostFindings) break;
    lines.push_back(OneLine(WithDevices(group.text, group.devices), kMostLine));
  }
  if (!unknown.empty()) {
    lines.push_back(OneLine(absl::StrCat("not known: ", unknown.size(),
                                         unknown.size() == 1 ? " finding: " : " findings: ",
                                         absl::StrJoin(unknown, ", ")),
                            kMostLine));
  }
  for (std::string& line : LinesOfText(result.excerpt())) lines.push_back(std::move(line));
  return lines;
}

}  // namespace galen::reasoner::llm
