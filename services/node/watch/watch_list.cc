#include "services/node/watch/watch_list.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"

namespace galen::node {
namespace {

constexpr int kMaxColumn = 1000;

// "KEY", "KEY:N", "*:N", "*:N@K", "PREFIX/NAME" or "value".
bool ParseField(absl::string_view field, CounterSpec& spec) {
  spec.field = std::string(field);
  if (field == "value") {
    spec.layout = CounterSpec::Layout::kNumber;
    return true;
  }
  if (const std::vector<absl::string_view> pair = absl::StrSplit(field, absl::MaxSplits('/', 1));
      pair.size() == 2) {
    spec.layout = CounterSpec::Layout::kPairs;
    spec.row = std::string(pair[0]);
    spec.name = std::string(pair[1]);
    return !spec.row.empty() && !spec.name.empty();
  }
  std::vector<absl::string_view> parts = absl::StrSplit(field, absl::MaxSplits(':', 1));
  spec.row = std::string(parts[0]);
  spec.layout = spec.row == "*" ? CounterSpec::Layout::kRows : CounterSpec::Layout::kRow;
  if (parts.size() == 2) {
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(parts[1], absl::MaxSplits('@', 1));
    if (!absl::SimpleAtoi(numbers[0], &spec.column)) return false;
    if (numbers.size() == 2 && !absl::SimpleAtoi(numbers[1], &spec.name_word)) return false;
  } else if (spec.layout == CounterSpec::Layout::kRows) {
    return false;
  }
  return !spec.row.empty() && spec.column >= 1 && spec.column <= kMaxColumn &&
         spec.name_word >= 1 && spec.name_word <= kMaxColumn;
}

// "event CHECK.NAME FINDING UNIT DEVICE RISE WITHIN"
bool ParseRule(const std::vector<absl::string_view>& words, CounterSpec& spec) {
  if (words.size() != 9 || words[2] != "event") return false;
  MovementRule rule;
  rule.check = std::string(words[3]);
  rule.finding = std::string(words[4]);
  rule.unit = std::string(words[5]);
  rule.device = words[6] == "-" ? "" : std::string(words[6]);
  if (!absl::SimpleAtoi(words[7], &rule.rise) || rule.rise == 0) return false;
  if (!absl::ParseDuration(words[8], &rule.within)) return false;
  if (rule.within < absl::Seconds(1) || rule.within > absl::Hours(1)) return false;
  spec.rule = std::move(rule);
  return true;
}

}  // namespace

absl::StatusOr<std::vector<CounterSpec>> ParseWatchList(absl::string_view text,
                                                        absl::string_view file) {
  std::vector<CounterSpec> specs;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", what,
                                                     "; the head of knowledge/watch.txt says how"));
    };
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    CounterSpec spec;
    spec.path = std::string(words[0]);
    if (!absl::StartsWith(spec.path, "/proc/") && !absl::StartsWith(spec.path, "/sys/")) {
      return wrong("the path does not lie below /proc or /sys");
    }
    if (words.size() < 2 || !ParseField(words[1], spec)) return wrong("this is not a FIELD");
    if (words.size() > 2 && !ParseRule(words, spec)) {
      return wrong("this is not \"event CHECK FINDING UNIT DEVICE RISE WITHIN\"");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

absl::StatusOr<std::vector<CounterSpec>> LoadWatchList(
    const std::vector<std::string>& knowledge_directories) {
  for (auto directory = knowledge_directories.rbegin(); directory != knowledge_directories.rend();
       ++directory) {
    const std::string path = absl::StrCat(*directory, "/watch.txt");
    const absl::StatusOr<std::string> text = ReadSmallFile(path);
    if (absl::IsNotFound(text.status())) continue;
    GALEN_RETURN_IF_ERROR(text.status());
    return ParseWatchList(*text, path);
  }
  return absl::NotFoundError("knowledge: no directory holds watch.txt, the list of counters");
}

}  // namespace galen::node
