#include "services/cli/top/exposition.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::cli::top {
namespace {

constexpr std::size_t kMostSeries = 200'000;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
}

// Takes a name off the front of `rest`; "" when there is none.
std::string TakeName(absl::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && IsNameCharacter(rest[end])) ++end;
  std::string name(rest.substr(0, end));
  rest.remove_prefix(end);
  return name;
}

// Takes a value in quotes off the front of `rest`.
std::optional<std::string> TakeQuoted(absl::string_view& rest) {
  if (!absl::ConsumePrefix(&rest, "\"")) return std::nullopt;
  std::string value;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\') {
      if (++i == rest.size()) return std::nullopt;
      value += rest[i] == 'n' ? '\n' : rest[i];
    } else {
      value += rest[i];
    }
  }
  return std::nullopt;
}

std::optional<Series> ParseLine(absl::string_view rest) {
  Series series;
  series.name = TakeName(rest);
  if (series.name.empty()) return std::nullopt;
  if (absl::ConsumePrefix(&rest, "{")) {
    while (!absl::ConsumePrefix(&rest, "}")) {
      std::string name = TakeName(rest);
      if (name.empty() || !absl::ConsumePrefix(&rest, "=")) return std::nullopt;
      std::optional<std::string> value = TakeQuoted(rest);
      if (!value.has_value()) return std::nullopt;
      series.labels[std::move(name)] = *std::move(value);
      absl::ConsumePrefix(&rest, ",");
    }
  }
  // A time may stand behind the value.
  const std::vector<absl::string_view> words = absl::StrSplit(rest, ' ', absl::SkipEmpty());
  if (words.empty() || words.size() > 2 || !absl::SimpleAtod(words[0], &series.value)) {
    return std::nullopt;
  }
  return series;
}

}  // namespace

absl::StatusOr<std::vector<Series>> ParseExposition(absl::string_view text) {
  std::vector<Series> all;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::optional<Series> series = ParseLine(line);
    if (!series.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is none of Prometheus' text format"));
    }
    if (all.size() == kMostSeries) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMostSeries, " series, which no part of Galen has"));
    }
    all.push_back(*std::move(series));
  }
  return all;
}

}  // namespace galen::cli::top
