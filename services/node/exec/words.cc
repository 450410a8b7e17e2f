#include "services/node/exec/words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxLines = 1'000'000;
constexpr std::size_t kMaxWords = 256;
constexpr std::size_t kLastBytes = 4096;

}  // namespace

std::vector<absl::string_view> OutputLines(absl::string_view text) {
  std::vector<absl::string_view> lines;
  while (!text.empty() && lines.size() < kMaxLines) {
    const std::size_t end = text.find('\n');
    absl::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    if (end == absl::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<absl::string_view> OutputWords(absl::string_view line) {
  std::vector<absl::string_view> words;
  std::size_t at = 0;
  while (words.size() < kMaxWords) {
    while (at < line.size() && absl::ascii_isspace(static_cast<unsigned char>(line[at]))) ++at;
    const std::size_t begin = at;
    while (at < line.size() && !absl::ascii_isspace(static_cast<unsigned char>(line[at]))) ++at;
    if (at == begin) break;
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

std::optional<double> Number(absl::string_view word) {
  double number = 0;
  if (word.size() > 64 || !absl::SimpleAtod(word, &number) || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<double> HardwareFact(const knowledge::Knowledge& knowledge, absl::string_view product,
                                   const std::string& fact) {
  if (product.empty()) return std::nullopt;
  const knowledge::v1::Hardware* const hardware = knowledge.FindHardware(product);
  if (hardware == nullptr) return std::nullopt;
  const auto found = hardware->facts().find(fact);
  if (found == hardware->facts().end()) return std::nullopt;
  return found->second;
}

absl::Status NotOutputOf(absl::string_view tool, absl::string_view text) {
  std::string first;
  for (const absl::string_view line : OutputLines(text.substr(0, 4096))) {
    first = CleanText(absl::StripAsciiWhitespace(line), 160);
    if (!first.empty()) break;
  }
  return absl::DataLossError(
      absl::StrCat(tool, ": its output has no result in it",
                   first.empty() ? "; it is empty" : absl::StrCat("; it begins \"", first, "\"")));
}

std::string LastWords(const host::CommandResult& result) {
  const std::string& text = result.err.empty() ? result.out : result.err;
  const absl::string_view last = text;
  const absl::string_view end =
      absl::StripAsciiWhitespace(last.substr(last.size() - std::min(last.size(), kLastBytes)));
  const std::size_t line = end.rfind('\n');
  return CleanText(line == absl::string_view::npos ? end : end.substr(line + 1), 240);
}

}  // namespace galen::node
