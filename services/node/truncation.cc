#include "services/node/truncation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::node {
namespace {

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) > 127;
}

bool HasDigit(absl::string_view word) {
  return std::any_of(word.begin(), word.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// How a line is built: 'a' for words, '0' for one with a digit, ' ' for blanks, and its signs. The
// name before a value keeps its words: "LMC: 0" is not built as "Rate: 4", which was cut.
std::string BuildOf(absl::string_view line) {
  std::string build;
  const std::size_t named = line.find_first_of(":=");
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    if (IsOfWord(line[at])) {
      while (end < line.size() && IsOfWord(line[end])) ++end;
      const absl::string_view word = line.substr(at, end - at);
      if (HasDigit(word)) {
        build += '0';
      } else if (named != absl::string_view::npos && at < named) {
        build.append(word.data(), word.size());
      } else {
        build += 'a';
      }
      // However many words a text has.
      if (absl::EndsWith(build, "a a")) build.resize(build.size() - 2);
    } else if (absl::ascii_isblank(static_cast<unsigned char>(line[at]))) {
      while (end < line.size() && absl::ascii_isblank(static_cast<unsigned char>(line[end]))) ++end;
      build += ' ';
    } else {
      build += line[at];
    }
    at = end;
  }
  return build;
}

absl::string_view LastWord(absl::string_view line) {
  std::size_t begin = line.size();
  while (begin > 0 && IsOfWord(line[begin - 1])) --begin;
  return line.substr(begin);
}

// The same word, or a number as long.
bool EndAlike(absl::string_view a, absl::string_view b) {
  return a == b || (a.size() == b.size() && HasDigit(a) && HasDigit(b));
}

bool IsNumber(absl::string_view word) {
  absl::ConsumePrefix(&word, "-");
  return !word.empty() && std::all_of(word.begin(), word.end(),
                                      [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// Whether a line has a number for each name of the line before it, as in /proc/net/snmp.
bool HasNumberOfEachName(absl::string_view names, absl::string_view numbers) {
  const std::vector<absl::string_view> name = absl::StrSplit(names, ' ', absl::SkipEmpty());
  const std::vector<absl::string_view> number = absl::StrSplit(numbers, ' ', absl::SkipEmpty());
  if (name.size() != number.size() || name.size() < 2 || name[0] != number[0]) return false;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (!absl::ascii_isalpha(static_cast<unsigned char>(name[i][0])) || !IsNumber(number[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsTruncated(absl::string_view text) {
  // A document may end with its last sign, and an entry of /proc with NUL.
  if (text.empty() ||
      absl::string_view("\n}]>\0", 5).find(text.back()) != absl::string_view::npos) {
    return false;
  }
  const std::size_t newline = text.rfind('\n');
  if (newline == absl::string_view::npos) return true;
  const absl::string_view last = text.substr(newline + 1);
  const absl::string_view end = LastWord(last);
  const std::string build = BuildOf(last);
  absl::string_view before;
  for (absl::string_view line : absl::StrSplit(text.substr(0, newline), '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    if (EndAlike(end, LastWord(line)) && BuildOf(line) == build) return false;
    before = line;
  }
  return !HasNumberOfEachName(before, last);
}

bool IsTruncatedFile(absl::string_view path, absl::string_view content) {
  const bool value = absl::StartsWith(path, "/sys/") || absl::StartsWith(path, "/proc/sys/");
  if (value && !absl::StrContains(content, '\n')) return false;
  return IsTruncated(content);
}

}  // namespace galen::node
