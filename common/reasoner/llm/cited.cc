#include "common/reasoner/llm/cited.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/host/node_name.h"
#include "common/reasoner/llm/lines.h"
#include "common/reasoner/llm/section.h"

namespace galen::reasoner::llm {
namespace {

// Minimum size of a quote, unless the whole line is shorter.
constexpr std::size_t kLeastQuote = 8;
// Tolerance in lines: models miscount lines.
constexpr std::int64_t kBeside = 3;
// A line logged this long before the incident may still have led to it.
constexpr absl::Duration kBefore = absl::Hours(24);

std::string Masked(const host::Redactor* redactor, const std::string& text) {
  if (redactor == nullptr) return text;
  std::map<std::string, int> counts;
  return redactor->Redact(text, counts);
}

}  // namespace

std::string Squeezed(absl::string_view text) {
  std::string squeezed;
  bool space = false;
  for (const char c : text) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      space = true;
      continue;
    }
    if (space && !squeezed.empty()) squeezed += ' ';
    space = false;
    squeezed += c;
  }
  return squeezed;
}

Shown::Shown(const v1::InvestigateQuestion& question, const host::Redactor* redactor)
    : redactor_(redactor) {
  const galen::v1::Incident& incident = question.incident();
  const galen::v1::EvidenceSet& evidence = question.evidence();
  if (incident.has_start_time()) oldest_ = ToTime(incident.start_time()) - kBefore;
  Add(std::string(kReport), LinesOfText(incident.description(), kMostOfParagraph), "");
  for (int i = 0; i < evidence.feedback_size(); ++i) {
    Add(FeedbackName(i + 1), LinesOfText(evidence.feedback(i), kMostOfParagraph), "");
  }
  for (const galen::v1::Signal& signal : evidence.summary().signals()) {
    const std::vector<std::string> lines = LinesOfText(signal.excerpt());
    if (lines.empty()) continue;
    const std::string artefact =
        signal.where() == galen::v1::DESCRIPTION && signal.source() == "description"
            ? std::string(kReport)
            : signal.source();
    // The report is already included, line by line.
    if (artefact == kReport) continue;
    Line line{lines.front(), signal.node(), signal.first_time(), signal.has_first_time()};
    AddLine(artefact, signal.first_line(), std::move(line));
  }
  for (const galen::v1::CheckResult& result : evidence.results()) {
    Add(result.id(), LinesOfResult(result), result.node());
  }
  for (const galen::v1::InvestigationTurn& turn : question.transcript()) {
    for (const galen::v1::ToolResult& shown : turn.results()) {
      for (const galen::v1::Citation& line : shown.lines()) {
        if (line.artefact().empty()) continue;
        AddLine(line.artefact(), line.line(),
                Line{line.quote(), line.node(), line.time(), line.has_time()});
        if (!line.handle().empty()) handles_[line.handle()] = line.artefact();
      }
    }
  }
}

void Shown::Add(const std::string& artefact, const std::vector<std::string>& lines,
                const std::string& node) {
  std::int64_t number = 0;
  for (const std::string& line : lines) AddLine(artefact, ++number, Line{line, node, {}, false});
}

// A text that contains or equals what is known of the line takes its place.
void Shown::AddLine(const std::string& artefact, std::int64_t number, Line line) {
  Lines& lines = artefacts_[artefact];
  const auto [begin, end] = lines.equal_range(number);
  for (auto known = begin; known != end; ++known) {
    if (absl::StrContains(line.text, known->second.text)) {
      known->second = std::move(line);
      return;
    }
  }
  lines.emplace(number, std::move(line));
}

bool Shown::Holds(const Line& line, const std::string& quote) const {
  const std::string whole = Squeezed(line.text);
  if (quote.size() < kLeastQuote && quote != whole) return false;
  return absl::StrContains(whole, quote) ||
         absl::StrContains(Squeezed(Masked(redactor_, line.text)), quote);
}

std::map<std::string, Shown::Lines>::const_iterator Shown::OnlyResultOf(
    const std::string& check) const {
  const std::string prefix = absl::StrCat(check, "@");
  const auto first = artefacts_.lower_bound(prefix);
  if (first == artefacts_.end() || !absl::StartsWith(first->first, prefix)) return artefacts_.end();
  const auto next = std::next(first);
  const bool several = next != artefacts_.end() && absl::StartsWith(next->first, prefix);
  return several ? artefacts_.end() : first;
}

absl::StatusOr<galen::v1::Citation> Shown::Find(const std::string& artefact, std::int64_t line,
                                                absl::string_view quote) const {
  auto lines = artefacts_.find(artefact);
  if (const auto handle = handles_.find(artefact);
      lines == artefacts_.end() && handle != handles_.end()) {
    lines = artefacts_.find(handle->second);
  }
  if (lines == artefacts_.end()) lines = OnlyResultOf(artefact);
  if (lines == artefacts_.end()) {
    return absl::InvalidArgumentError("it is of an artefact of which nothing was shown");
  }
  absl::ConsumeSuffix(&quote, "...");
  // Sections of a prompt have entities instead of some characters.
  const std::string forms[] = {Squeezed(quote), Squeezed(Unescape(quote))};
  const std::pair<const std::int64_t, Line>* found = nullptr;
  bool several = false;
  for (const auto& each : lines->second) {
    const bool holds = std::any_of(
        std::begin(forms), std::end(forms),
        [&](const std::string& form) { return !form.empty() && Holds(each.second, form); });
    if (!holds) continue;
    const std::int64_t away = std::llabs(each.first - line);
    const bool near = away <= kBeside;
    if (found != nullptr && found->first != each.first) {
      const std::int64_t best = std::llabs(found->first - line);
      several = several || !near;
      if (away >= best) continue;
    }
    found = &each;
    if (near) several = false;
  }
  if (found == nullptr) {
    if (forms[0].size() < kLeastQuote) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is shorter than ", kLeastQuote,
                       " characters and not a whole line; quote more of the line"));
    }
    return absl::InvalidArgumentError("it is not in the lines that were shown of that artefact");
  }
  if (several && std::llabs(found->first - line) > kBeside) {
    return absl::InvalidArgumentError(
        "it is in several lines of that artefact, and not in the one that is named");
  }
  galen::v1::Citation citation;
  citation.set_artefact(lines->first);
  citation.set_line(found->first);
  citation.set_quote(Masked(redactor_, found->second.text));
  citation.set_node(found->second.node);
  if (found->second.timed) *citation.mutable_time() = found->second.time;
  return citation;
}

bool Shown::QuotesOnlyWhatStands(absl::string_view words) const {
  for (const char mark : {'"', '`'}) {
    for (std::size_t open = words.find(mark); open != absl::string_view::npos;) {
      const std::size_t close = words.find(mark, open + 1);
      if (close == absl::string_view::npos) break;
      const std::string quote = Squeezed(words.substr(open + 1, close - open - 1));
      open = words.find(mark, close + 1);
      if (quote.size() < kLeastQuote) continue;
      const bool stands =
          std::any_of(artefacts_.begin(), artefacts_.end(), [&](const auto& artefact) {
            return std::any_of(artefact.second.begin(), artefact.second.end(),
                               [&](const auto& line) { return Holds(line.second, quote); });
          });
      if (!stands) return false;
    }
  }
  return true;
}

bool Shown::NamesMachine(const std::string& name) const {
  // Any word of a sentence could match; the names of unlisted machines must contain a digit.
  if (!host::IsNodeName(name) || std::none_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      })) {
    return false;
  }
  const auto is_part = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  };
  const auto holds = [&](const std::string& text) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
        return true;
      }
    }
    return false;
  };
  return std::any_of(artefacts_.begin(), artefacts_.end(), [&](const auto& artefact) {
    return std::any_of(artefact.second.begin(), artefact.second.end(), [&](const auto& line) {
      return line.second.node == name || holds(line.second.text);
    });
  });
}

bool Shown::IsTooOld(const galen::v1::Citation& citation) const {
  return oldest_.has_value() && citation.has_time() && ToTime(citation.time()) < *oldest_;
}

}  // namespace galen::reasoner::llm
