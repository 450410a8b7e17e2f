#include "services/summarization/line_selector.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"

namespace galen::summarization {
namespace {

constexpr std::size_t kEndLines = 15;
constexpr std::int64_t kBesideLines = 5;
constexpr std::size_t kMostKept = 200;     // lines about messages
constexpr std::size_t kMostOfLine = 4096;  // of a line
constexpr std::size_t kLooked = 256;       // of a line, for its severity
constexpr std::size_t kNumber = 8;         // bytes of a line's number
// Lines that precede the incident by more than this are seldom about it.
constexpr absl::Duration kOld = absl::Hours(24);

// Lines that are chosen together.
struct Candidate {
  std::size_t text = 0;
  int rank = 0;  // 0: the first to be chosen
  std::int64_t order = 0;
  bool older = false;
  std::vector<SelectedLine> lines;
};

// -1: not worth to be shown.
int RankOf(ReadText::Kind kind, Worth worth) {
  using Kind = ReadText::Kind;
  if (kind == Kind::kPasted) return 2;
  if (kind == Kind::kFile) return 6;
  const bool machine = kind == Kind::kMachineLog;
  switch (worth) {
    case Worth::kMessage:
      return machine ? 1 : 0;
    case Worth::kEnd:
      return machine ? -1 : 3;
    case Worth::kBeside:
      return machine ? 5 : 4;
    case Worth::kPart:
      return machine ? 1 : 0;
  }
  return -1;
}

// The severities as loggers print them.
bool IsSevere(absl::string_view line) {
  static const RE2* const kSevere =
      new RE2(R"((?i)\b(warn(ing)?|err(or)?|fatal|crit(ical)?|panic|exception)\b|^[EWF][0-9: ])",
              RE2::Latin1);
  return RE2::PartialMatch(Piece(line.substr(0, kLooked)), *kSevere);
}

}  // namespace

void LineSelector::Add(std::int64_t number, absl::string_view line) {
  last_ = number;
  SelectedLine added{number, std::string(line.substr(0, kMostOfLine)), Worth::kPart, 0};
  if (number <= kShort) first_.push_back(added);
  const auto next = messages_.lower_bound(number - kBesideLines);
  const bool near = next != messages_.end() && *next <= number + kBesideLines;
  const bool known = near && messages_.contains(number);
  if (kept_.size() < kMostKept && (known || (near && IsSevere(line)))) {
    kept_.push_back(added);
    kept_.back().worth = known ? Worth::kMessage : Worth::kBeside;
  }
  if (absl::StripAsciiWhitespace(line).empty()) return;
  added.worth = Worth::kEnd;
  end_.push_back(std::move(added));
  if (end_.size() > kEndLines) end_.pop_front();
}

std::vector<SelectedLine> LineSelector::Whole() const { return first_; }

std::vector<SelectedLine> LineSelector::Best() const {
  std::map<std::int64_t, SelectedLine> best;
  for (const SelectedLine& line : kept_) best.emplace(line.number, line);
  std::int64_t from_end = static_cast<std::int64_t>(end_.size());
  for (SelectedLine line : end_) {
    line.from_end = --from_end;
    best.emplace(line.number, std::move(line));
  }
  std::vector<SelectedLine> lines;
  lines.reserve(best.size());
  for (auto& [number, line] : best) lines.push_back(std::move(line));
  return lines;
}

std::vector<Chosen> Choose(const std::vector<ReadText>& texts, std::size_t most_bytes,
                           std::size_t most_line, const BeforeIncident& before) {
  using Kind = ReadText::Kind;
  const auto is_log = [](const ReadText& text) {
    return text.kind == Kind::kJobLog || text.kind == Kind::kMachineLog;
  };
  std::int64_t lines = 0;
  for (const ReadText& text : texts) lines += is_log(text) ? text.selector.lines() : 0;
  const bool is_short = lines <= LineSelector::kShort;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool whole = is_short || !is_log(texts[i]);
    if (!is_log(texts[i])) {
      candidates.push_back(
          {i, RankOf(texts[i].kind, Worth::kPart), 0, false, texts[i].selector.Whole()});
      continue;
    }
    for (SelectedLine& line : whole ? texts[i].selector.Whole() : texts[i].selector.Best()) {
      const int rank = RankOf(texts[i].kind, line.worth);
      if (rank < 0) continue;
      const std::optional<absl::Duration> gap = before(line.text);
      std::int64_t order = line.worth == Worth::kEnd ? line.from_end : line.number;
      if (line.worth == Worth::kMessage) {
        order = gap.has_value() ? absl::ToInt64Seconds(absl::AbsDuration(*gap)) : 0;
      }
      candidates.push_back({i, rank, order, gap.has_value() && *gap > kOld, {std::move(line)}});
    }
  }
  std::stable_sort(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return std::tuple(a.older, a.rank, a.order) < std::tuple(b.older, b.rank, b.order);
      });
  std::vector<Chosen> chosen;
  std::set<std::string> seen;
  std::size_t bytes = 0;
  for (Candidate& candidate : candidates) {
    std::size_t needed = 0;
    for (const SelectedLine& line : candidate.lines) {
      needed += std::min(line.text.size(), most_line) + kNumber;
    }
    if (bytes + needed > most_bytes) continue;
    const bool alone = candidate.lines.size() == 1;
    const std::string said(absl::StripAsciiWhitespace(
        candidate.lines.empty() ? absl::string_view() : candidate.lines.front().text));
    if (alone && !said.empty() && !seen.insert(said).second) continue;
    bytes += needed;
    for (SelectedLine& line : candidate.lines) {
      chosen.push_back({candidate.text, std::move(line), candidate.older});
    }
  }
  std::sort(chosen.begin(), chosen.end(), [&](const Chosen& a, const Chosen& b) {
    return std::tuple(a.older, texts[a.text].kind, a.text, a.line.number) <
           std::tuple(b.older, texts[b.text].kind, b.text, b.line.number);
  });
  return chosen;
}

}  // namespace galen::summarization
