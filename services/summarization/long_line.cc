#include "services/summarization/long_line.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::summarization {
namespace {

constexpr std::size_t kNote = 48;  // bytes of a note on what is left out

bool IsInsideCharacter(absl::string_view line, std::size_t at) {
  return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
}

// Moves a bound back to the beginning of its character, by at most three bytes.
std::size_t Bound(absl::string_view line, std::size_t at) {
  at = std::min(at, line.size());
  const std::size_t given = at;
  while (at > 0 && given - at < 3 && IsInsideCharacter(line, at)) --at;
  return IsInsideCharacter(line, at) ? given : at;
}

std::string Clean(absl::string_view part) { return CleanText(part, part.size() + kNote); }

}  // namespace

std::string Shortened(absl::string_view line, std::size_t match_end, std::size_t most) {
  if (line.size() <= most || most <= 3 * kNote) return CleanText(line, most);
  const std::size_t room = most - 2 * kNote;
  using Range = std::pair<std::size_t, std::size_t>;
  std::vector<Range> ranges;
  if (match_end <= room / 2) {
    ranges = {{0, room * 2 / 3}, {line.size() - room / 3, line.size()}};
  } else {
    const std::size_t end = std::min(match_end + room / 6, line.size());
    ranges = {
        {0, room / 4}, {end - std::min(end, room / 2), end}, {line.size() - room / 4, line.size()}};
  }
  std::string text;
  std::size_t shown = 0;  // up to this byte
  for (const Range& range : ranges) {
    std::size_t begin = std::max(Bound(line, range.first), shown);
    const std::size_t end = std::max(Bound(line, range.second), begin);
    if (begin > shown && begin - shown <= kNote) begin = shown;  // shorter than the note on it
    if (begin > shown) {
      absl::StrAppend(&text, " [bytes ", shown + 1, "-", begin, " of ", line.size(),
                      " are left out] ");
    }
    absl::StrAppend(&text, Clean(line.substr(begin, end - begin)));
    shown = end;
  }
  return text;
}

LinePart PartOfLine(absl::string_view line, std::size_t first, std::size_t most) {
  LinePart part;
  if (first == 0 || first > line.size()) return part;
  const std::size_t begin = Bound(line, first - 1);
  const std::size_t end = std::max(Bound(line, begin + most), begin + 1);
  part.text = CleanText(line.substr(begin, end - begin), most);
  part.first = begin + 1;
  part.last = end;
  return part;
}

}  // namespace galen::summarization
