#include "bench/eval/suite/drafts/value_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::drafts {
namespace {

constexpr char kNumberGroup[] = R"((-?[0-9]+(?:\.[0-9]+)?))";
constexpr char kWordGroup[] = R"((\S+))";
// The beginning of the line or text, from which columns are counted.
constexpr char kFirstLine[] = R"(\A)";
constexpr char kIndent[] = R"(^[ \t]*)";
// Between a name and its value.
constexpr char kIs[] = R"([ \t]*[:=]?[ \t]*)";

std::string ColumnsThen(int skip, absl::string_view value) {
  return absl::StrCat(R"((?:\S+[ \t]+){)", skip, "}", value);
}

std::vector<std::string> InColumn(const std::string& key, int column, bool number) {
  const bool named = !key.empty();
  if (column < 0) {
    return {absl::StrCat(named ? absl::StrCat(kIndent, key) : kFirstLine, R"([^\n]*?)",
                         number ? R"((-?[0-9.]+))" : kWordGroup, R"([ \t]*$)")};
  }
  const absl::string_view value = number ? kNumberGroup : kWordGroup;
  if (!named) return {absl::StrCat(kFirstLine, R"(\s*)", ColumnsThen(column - 1, value))};
  // If the name is a word of its line, the name is the first column.
  const std::string start = absl::StrCat(kIndent, key, kIs);
  return {absl::StrCat(start, ColumnsThen(std::max(column - 2, 0), value)),
          absl::StrCat(start, ColumnsThen(column - 1, value))};
}

std::vector<std::string> Behind(const std::string& key, const std::string& section, bool number,
                                bool critique) {
  const std::string value =
      number ? kNumberGroup : absl::StrCat(R"re("?([^\n"]*?)"?)re", R"([ \t]*$)");
  const std::string below =
      section.empty() ? "" : absl::StrCat("(?s:", SpacedPattern(section), ".*?)");
  const std::string careful =
      absl::StrCat(section.empty() ? R"(^[ \t]*["']?)" : R"(\b)", key, R"(["']?)", kIs, value);
  const std::string between = absl::StrCat(R"(\b)", key, R"(\b["']?[^\n0-9-]*)", value);
  const std::string loose = absl::StrCat(key, number ? R"([^\n]*?)" : kIs, value);
  if (!critique) return {loose, careful};
  return {below + careful, below + between, below + loose, careful, between};
}

}  // namespace

std::string SpacedPattern(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    words.push_back(RE2::QuoteMeta(re2::StringPiece(word.data(), word.size())));
  }
  return absl::StrJoin(words, R"([ \t]+)");
}

std::vector<std::string> ValuePatterns(const ValuePlace& place, const Condition& condition,
                                       bool critique) {
  if (place.bracketed) return {R"(\[([^\]\n]+)\])"};
  const std::string key = SpacedPattern(place.field);
  if (place.column != 0) return InColumn(key, place.column, condition.number);
  if (!key.empty()) return Behind(key, place.section, condition.number, critique);
  if (condition.number) return {absl::StrCat(R"(\A\s*)", kNumberGroup), kNumberGroup};
  return {R"(\A\s*([^\n]*?)\s*$)", R"re("?([^\n"]*?)"?)re"};
}

std::vector<std::string> PresencePatterns(const std::string& text, bool critique) {
  const std::string literal = RE2::QuoteMeta(text);
  if (!critique) return {literal};
  return {absl::StrCat(R"((?:^|[^\w]))", literal, R"((?:[^\w]|$))"), literal};
}

}  // namespace galen::drafts
