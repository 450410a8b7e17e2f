#include "common/intake/prose.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/line.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// A quotation with at least this many bytes and words is a message of a program.
constexpr std::size_t kQuotedBytes = 24;
constexpr std::size_t kQuotedWords = 4;

}  // namespace

bool LooksLikeProse(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || absl::StrContains(line, "  ") || absl::StrContains(line, '\t')) return false;
  int words = 0;
  int plain = 0;
  for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    ++words;
    while (!word.empty() && absl::ascii_ispunct(static_cast<unsigned char>(word.back())))
      word.remove_suffix(1);
    while (!word.empty() &&
           (word[0] == '(' || word[0] == '"' || word[0] == '`' || word[0] == '*')) {
      word.remove_prefix(1);
    }
    const bool letters = std::all_of(word.begin(), word.end(), [](char c) {
      return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '\'' || c == '-' ||
             (static_cast<unsigned char>(c) & 0x80) != 0;
    });
    plain += letters ? 1 : 0;
  }
  return words >= 4 && plain * 4 >= words * 3;
}

std::size_t ErrorIn(absl::string_view line) {
  static const RE2 error(
      R"((?:^|[\s"'(:])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): |\[Errno \d+\] |(?:CUDA|HIP) error: |NCCL WARN |NVRM: |RuntimeError\())",
      ByteOptions());
  re2::StringPiece at;
  if (!RE2::PartialMatch(Piece(line), error, &at)) return absl::string_view::npos;
  return static_cast<std::size_t>(at.data() - line.data());
}

bool IsMessage(absl::string_view quoted) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(quoted, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return quoted.size() >= kQuotedBytes && words.size() >= kQuotedWords;
}

}  // namespace galen::intake
