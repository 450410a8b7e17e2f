#include "common/reasoner/llm/lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/knowledge/rules.h"

namespace galen::reasoner::llm {
namespace {

constexpr std::size_t kMostFindings = 400;

std::string OneLine(absl::string_view text) {
  std::string line = CleanText(text, kMostLine);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &line);
  return line;
}

}  // namespace

std::string FeedbackName(int number) { return absl::StrCat("feedback/", number); }

std::vector<std::string> LinesOfText(absl::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    lines.push_back(OneLine(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string FindingText(const galen::v1::Finding& finding) {
  std::string text = absl::StrCat(finding.name(), " ", knowledge::ValueText(finding));
  if (finding.has_event_value() && !finding.event_value().text().empty()) {
    absl::StrAppend(&text, " \"", finding.event_value().text(), "\" (",
                    finding.event_value().count(), " times)");
  }
  if (!finding.unit().empty()) absl::StrAppend(&text, " ", finding.unit());
  if (!finding.expected().empty()) absl::StrAppend(&text, " (expected ", finding.expected(), ")");
  if (finding.abnormal()) absl::StrAppend(&text, ", abnormal");
  if (!finding.subject().device().empty()) {
    absl::StrAppend(&text, ", of ", finding.subject().device());
  }
  return text;
}

std::vector<std::string> LinesOfResult(const galen::v1::CheckResult& result) {
  std::vector<std::string> lines;
  lines.push_back(OneLine(absl::StrCat(galen::v1::CheckResult::Status_Name(result.status()),
                                       result.message().empty() ? "" : ": ", result.message())));
  for (const bool abnormal : {true, false}) {
    for (const galen::v1::Finding& finding : result.findings()) {
      if (finding.abnormal() != abnormal || lines.size() > kMostFindings) continue;
      lines.push_back(OneLine(FindingText(finding)));
    }
  }
  for (std::string& line : LinesOfText(result.excerpt())) lines.push_back(std::move(line));
  return lines;
}

}  // namespace galen::reasoner::llm
