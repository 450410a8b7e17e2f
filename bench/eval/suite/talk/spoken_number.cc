#include "bench/eval/suite/talk/spoken_number.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace galen::talk {
namespace {

constexpr int kMost = 999'999;
// No port takes more words, "sixty-five thousand five hundred and thirty-five" nine.
constexpr int kMostWords = 12;

constexpr std::array<std::pair<absl::string_view, int>, 30> kWords = {{
    {"zero", 0},      {"oh", 0},       {"one", 1},      {"two", 2},        {"three", 3},
    {"four", 4},      {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},
    {"nine", 9},      {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13},
    {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18},
    {"nineteen", 19}, {"twenty", 20},  {"thirty", 30},  {"forty", 40},     {"fifty", 50},
    {"sixty", 60},    {"seventy", 70}, {"eighty", 80},  {"ninety", 90},    {"nought", 0},
}};

std::optional<int> ValueOf(absl::string_view word) {
  for (const auto& [text, value] : kWords) {
    if (text == word) return value;
  }
  return std::nullopt;
}

// The next word from `at` on, over spaces and hyphens; moves `at` behind it.
absl::string_view NextWord(absl::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '-')) ++at;
  const std::size_t begin = at;
  while (at < text.size() && absl::ascii_isalpha(static_cast<unsigned char>(text[at]))) ++at;
  return text.substr(begin, at - begin);
}

// A number said with "hundred" and "thousand".
class Sum {
 public:
  bool scaled() const { return scaled_; }
  void Add(int value) { part_ += value; }
  bool Scale(int by) {
    scaled_ = true;
    if (by == 100) {
      part_ = (part_ == 0 ? 1 : part_) * 100;
    } else {
      total_ += (part_ == 0 ? 1 : part_) * by;
      part_ = 0;
    }
    return total_ + part_ <= kMost;
  }
  int value() const { return total_ + part_; }

 private:
  int total_ = 0;
  int part_ = 0;
  bool scaled_ = false;
};

std::optional<SpokenNumber> ReadDigits(absl::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  std::int32_t value = 0;
  if (end == 0 || end > 6 || !absl::SimpleAtoi(text.substr(0, end), &value)) return std::nullopt;
  // A part of a name, an address or a size is not a number.
  if (end < text.size() && (absl::ascii_isalpha(static_cast<unsigned char>(text[end])) ||
                            text[end] == '_' || text[end] == '/')) {
    return std::nullopt;
  }
  if (end + 1 < text.size() && (text[end] == '.' || text[end] == ':') &&
      absl::ascii_isdigit(static_cast<unsigned char>(text[end + 1]))) {
    return std::nullopt;
  }
  return SpokenNumber{value, end};
}

}  // namespace

std::optional<SpokenNumber> ReadNumber(absl::string_view text) {
  if (const auto digits = ReadDigits(text); digits.has_value()) return digits;
  Sum sum;
  std::vector<int> chunks;  // of a number said figure by figure or two figures at a time
  std::size_t end = 0;
  std::size_t at = 0;
  int repeat = 1;
  bool tens_open = false;  // after "twenty", which takes a "two"
  for (int words = 0; words < kMostWords; ++words) {
    const absl::string_view word = NextWord(text, at);
    if (word.empty()) break;
    if (word == "and" && sum.scaled()) continue;
    if (word == "double" || word == "triple") {
      repeat = word == "double" ? 2 : 3;
      continue;
    }
    if (word == "hundred" || word == "thousand") {
      if (chunks.empty() && !sum.scaled()) return std::nullopt;
      if (!sum.Scale(word == "hundred" ? 100 : 1000)) return std::nullopt;
      tens_open = false;
      end = at;
      continue;
    }
    const std::optional<int> value = ValueOf(word);
    if (!value.has_value()) break;
    sum.Add(*value);
    if (tens_open && *value > 0 && *value < 10) {
      chunks.back() += *value;
      tens_open = false;
    } else {
      for (int i = 0; i < repeat; ++i) chunks.push_back(*value);
      tens_open = *value >= 20;
    }
    repeat = 1;
    end = at;
  }
  if (end == 0) return std::nullopt;
  if (sum.scaled()) return SpokenNumber{sum.value(), end};
  std::string figures;
  for (const int chunk : chunks) absl::StrAppend(&figures, chunk);
  std::int32_t value = 0;
  if (figures.size() > 6 || !absl::SimpleAtoi(figures, &value)) return std::nullopt;
  return SpokenNumber{value, end};
}

}  // namespace galen::talk
