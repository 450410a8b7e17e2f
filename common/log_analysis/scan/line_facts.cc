#include "common/log_analysis/scan/line_facts.h"

#include <re2/re2.h>

#include <array>

namespace galen::log_scan {
namespace {

// Bytes of a line to search: long enough for every prefix, so that a hostile line costs little.
constexpr std::size_t kReach = 1024;

re2::StringPiece Head(absl::string_view line) {
  line = line.substr(0, kReach);
  return {line.data(), line.size()};
}

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

}  // namespace

std::optional<std::int32_t> FindRank(absl::string_view line) {
  // A rank in brackets is more likely the writer than one that the text mentions.
  static const std::array<const RE2*, 3> kForms = {
      new RE2(R"((?i)\[rank[ :=]?(\d{1,7})\])", Quiet()),
      new RE2(R"((?i)^\s*rank[ :=]*(\d{1,7})\b)", Quiet()),
      new RE2(R"((?i)(?:^|[^a-z0-9_-])rank\s*[:=]\s*(\d{1,7})\b)", Quiet()),
  };
  for (const RE2* form : kForms) {
    std::int32_t rank = 0;
    if (RE2::PartialMatch(Head(line), *form, &rank)) return rank;
  }
  return std::nullopt;
}

std::string FindHost(absl::string_view line) {
  static const std::array<const RE2*, 3> kForms = {
      new RE2(R"((?:^|[\s\]])([A-Za-z0-9][A-Za-z0-9._-]*):\d+:\d+ \[\d+\] )", Quiet()),
      new RE2(R"(^(?:[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d)"
              R"(|\d{4}-\d\d-\d\dT[0-9:.,]+(?:Z|[+-]\d\d:?\d\d)) )"
              R"(([A-Za-z0-9][A-Za-z0-9._-]*) [A-Za-z_()./-]+(?:\[\d+\])?:)",
              Quiet()),
      new RE2(R"(^\[?([A-Za-z0-9][A-Za-z0-9._-]*)[\]:]+ )", Quiet()),
  };
  std::string host;
  for (const RE2* form : kForms) {
    if (RE2::PartialMatch(Head(line), *form, &host)) return host;
  }
  return "";
}

}  // namespace galen::log_scan
