#include "common/intake/blocks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/intake/line.h"

namespace galen::intake {
namespace {

constexpr std::size_t kCodeIndent = 4;

// The fence that a line is: its sign and length; 0: none.
struct Fence {
  char sign = '\0';
  std::size_t length = 0;
  absl::string_view info;
};

Fence FenceOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(Unquoted(line));
  Fence fence;
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return fence;
  std::size_t length = 0;
  while (length < line.size() && line[length] == line[0]) ++length;
  if (length < 3) return fence;
  const absl::string_view info = absl::StripAsciiWhitespace(line.substr(length));
  // "```text```" on one line is not a fence.
  if (line[0] == '`' && absl::StrContains(info, '`')) return fence;
  return {line[0], length, info};
}

bool Closes(absl::string_view line, const Fence& open) {
  const Fence fence = FenceOf(line);
  return fence.sign == open.sign && fence.length >= open.length && fence.info.empty();
}

bool NamesLanguage(absl::string_view info) {
  static constexpr std::array<absl::string_view, 18> kLanguages = {
      "python", "py",   "yaml", "yml",  "json", "toml", "ini",  "c",          "cpp",
      "c++",    "cuda", "go",   "rust", "java", "js",   "diff", "dockerfile", "cmake"};
  const std::string word = absl::AsciiStrToLower(info.substr(0, info.find_first_of(" {,")));
  return std::find(kLanguages.begin(), kLanguages.end(), word) != kLanguages.end();
}

// Columns of blanks that a line begins with; a tab counts as four.
std::size_t IndentOf(absl::string_view line) {
  std::size_t columns = 0;
  for (const char c : line) {
    if (c == ' ') {
      ++columns;
    } else if (c == '\t') {
      columns += kCodeIndent;
    } else {
      break;
    }
  }
  return columns;
}

void CutBare(absl::Span<const absl::string_view> lines, LineRange range,
             std::vector<Block>& blocks) {
  std::size_t begun = range.first;
  const auto bare = [&](std::size_t end) {
    if (end > begun) blocks.push_back({.lines = {begun, end}});
  };
  for (std::size_t at = range.first; at < range.end;) {
    const bool after_blank = at == range.first || IsBlank(lines[at - 1]);
    if (!after_blank || IsBlank(lines[at]) || IndentOf(Unquoted(lines[at])) < kCodeIndent) {
      ++at;
      continue;
    }
    std::size_t end = at;
    std::size_t indent = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = at; i < range.end; ++i) {
      if (IsBlank(lines[i])) continue;
      const std::size_t own = IndentOf(Unquoted(lines[i]));
      if (own < kCodeIndent) break;
      indent = std::min(indent, own);
      end = i + 1;
    }
    bare(at);
    blocks.push_back({.lines = {at, end}, .kind = Block::Kind::kIndented, .indent = indent});
    begun = at = end;
  }
  bare(range.end);
}

}  // namespace

std::vector<CodeSpan> CodeSpans(absl::Span<const absl::string_view> lines, LineRange range) {
  std::vector<CodeSpan> spans;
  std::vector<CodeSpan> open;  // runs of the paragraph that nothing has closed yet, of each length
  for (std::size_t line = range.first; line < range.end; ++line) {
    if (IsBlank(lines[line])) open.clear();
    for (std::size_t at = lines[line].find('`'); at != absl::string_view::npos;
         at = lines[line].find('`', at)) {
      std::size_t end = at;
      while (end < lines[line].size() && lines[line][end] == '`') ++end;
      const auto opened = std::find_if(
          open.begin(), open.end(), [&](const CodeSpan& span) { return span.ticks == end - at; });
      if (opened == open.end()) {
        open.push_back({line, end, line, end, end - at});
      } else {
        spans.push_back(*opened);
        spans.back().last_line = line;
        spans.back().end_byte = at;
        open.clear();
      }
      at = end;
    }
  }
  return spans;
}

bool HasFence(absl::Span<const absl::string_view> lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Fence open = FenceOf(lines[i]);
    if (open.length == 0) continue;
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      if (Closes(lines[j], open)) return true;
    }
    return false;
  }
  return false;
}

std::vector<Block> CutBlocks(absl::Span<const absl::string_view> lines) {
  std::vector<Block> blocks;
  std::size_t begun = 0;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const Fence open = FenceOf(lines[at]);
    if (open.length == 0) continue;
    CutBare(lines, {begun, at}, blocks);
    std::size_t end = at + 1;
    while (end < lines.size() && !Closes(lines[end], open)) ++end;
    std::size_t indent = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = at + 1; i < end; ++i) {
      if (!IsBlank(lines[i])) indent = std::min(indent, IndentOf(Unquoted(lines[i])));
    }
    if (end > at + 1) {
      // A tab at the beginning may be of the program itself: only what the fence has, too, goes.
      blocks.push_back({.lines = {at + 1, end},
                        .kind = Block::Kind::kFenced,
                        .indent = std::min(indent, IndentOf(Unquoted(lines[at]))),
                        .code = NamesLanguage(open.info)});
    }
    at = end;
    begun = std::min(end + 1, lines.size());
  }
  if (begun < lines.size()) CutBare(lines, {begun, lines.size()}, blocks);
  return blocks;
}

}  // namespace galen::intake
