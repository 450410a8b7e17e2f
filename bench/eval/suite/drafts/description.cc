#include "bench/eval/suite/drafts/description.h"

#include <re2/re2.h>

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"

namespace galen::drafts {
namespace {

std::set<std::string> Programs(const knowledge::v1::KnowledgeBase& base) {
  std::set<std::string> programs;
  for (const auto& check : base.checks()) {
    for (const std::string& read : check.reads()) {
      const std::string first(read.substr(0, read.find(' ')));
      if (!first.empty() && first[0] != '/') programs.insert(first);
    }
  }
  return programs;
}

// The text before a quoted text, including its mark, in lower case; no further than words reach.
std::string WordsBefore(absl::string_view description, const Quoted& quoted) {
  constexpr std::size_t kReach = 80;
  const std::size_t from = quoted.at > kReach ? quoted.at - kReach : 0;
  return absl::AsciiStrToLower(description.substr(from, quoted.at - from));
}

}  // namespace

std::vector<Quoted> QuotedIn(absl::string_view description) {
  static const RE2* const kQuoted =
      new RE2(R"re(`([^`\n]{1,200})`|"([^"\n]{1,200})"|(?:^|[\s(])'([^'\n]{1,200})')re");
  std::vector<Quoted> quoted;
  re2::StringPiece rest = Piece(description);
  re2::StringPiece a;
  re2::StringPiece b;
  re2::StringPiece c;
  while (RE2::FindAndConsume(&rest, *kQuoted, &a, &b, &c)) {
    const re2::StringPiece& text = !a.empty() ? a : !b.empty() ? b : c;
    quoted.push_back(
        {std::string(text), static_cast<std::size_t>(text.data() - description.data())});
  }
  return quoted;
}

Source SourceIn(const knowledge::v1::KnowledgeBase& base, absl::string_view description,
                const std::vector<Quoted>& quoted, const DescriptionWords& known) {
  Source source;
  const std::set<std::string> programs = Programs(base);
  for (const Quoted& each : quoted) {
    const std::vector<std::string> words = absl::StrSplit(each.text, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    const bool run = known.run_before.In(WordsBefore(description, each));
    if (words.size() == 1 && absl::StartsWith(words[0], "/")) {
      source.file = words[0];
      source.words = each.text;
      return source;
    }
    if (programs.count(words[0]) > 0 ||
        (run && words.size() > 1 && absl::ascii_islower(static_cast<unsigned char>(words[0][0])))) {
      source.command = words;
      source.words = each.text;
      return source;
    }
  }
  static const RE2* const kPath = new RE2(
      R"((?:^|[\s(,"'`])(/(?:proc|sys|etc|run|var|opt|usr|dev|tmp|home|mnt|boot|srv|lib)/[A-Za-z0-9_./@:+-]*[A-Za-z0-9_]))");
  re2::StringPiece path;
  if (RE2::PartialMatch(re2::StringPiece(description.data(), description.size()), *kPath, &path)) {
    source.file = std::string(path);
    source.words = source.file;
  }
  return source;
}

std::string FieldIn(const std::vector<Quoted>& quoted, const std::string& source,
                    const Condition& condition) {
  for (const Quoted& each : quoted) {
    if (each.text == source || (!condition.number && each.text == condition.value)) continue;
    if (each.at > condition.at && condition.presence) continue;
    return each.text;
  }
  return "";
}

int ColumnIn(const std::string& lower, const DescriptionWords& words) {
  std::string ordinal;
  if (!RE2::PartialMatch(lower, *words.column, &ordinal)) return 0;
  if (words.last.In(ordinal)) return -1;
  for (std::size_t i = 0; i < words.ordinals.size(); ++i) {
    if (words.ordinals[i].In(ordinal)) return static_cast<int>(i) + 1;
  }
  return 0;
}

std::string SectionIn(absl::string_view description, const std::vector<Quoted>& quoted,
                      const DescriptionWords& words) {
  for (const Quoted& each : quoted) {
    if (words.section_before.In(WordsBefore(description, each))) return each.text;
  }
  return "";
}

}  // namespace galen::drafts
