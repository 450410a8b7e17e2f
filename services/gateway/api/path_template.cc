#include "services/gateway/api/path_template.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::gateway {
namespace {

int HexOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(static_cast<unsigned char>(c));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsSegment(absl::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return c == '/' || absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

}  // namespace

std::optional<std::string> PercentDecode(absl::string_view text, bool plus_is_space) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      plain.push_back(' ');
    } else if (text[i] != '%') {
      plain.push_back(text[i]);
    } else {
      const int high = i + 2 < text.size() ? HexOf(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexOf(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      plain.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return plain;
}

absl::StatusOr<PathTemplate> PathTemplate::Parse(absl::string_view text) {
  PathTemplate made;
  made.text_ = std::string(text);
  const auto bad = [text] {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a path of an HTTP rule"));
  };
  if (!absl::ConsumePrefix(&text, "/")) return bad();
  int field = -1;
  const std::size_t verb = text.rfind(':');
  const std::size_t slash = text.rfind('/');
  if (verb != absl::string_view::npos && (slash == absl::string_view::npos || verb > slash)) {
    made.verb_ = std::string(text.substr(verb + 1));
    if (made.verb_.empty()) return bad();
    text = text.substr(0, verb);
  }
  for (absl::string_view segment : absl::StrSplit(text, '/')) {
    if (absl::ConsumePrefix(&segment, "{")) {
      if (field >= 0) return bad();
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(segment, absl::MaxSplits('=', 1));
      if (parts.first.empty() || parts.second.empty()) return bad();
      field = static_cast<int>(made.fields_.size());
      made.fields_.push_back({std::string(parts.first), ""});
      segment = parts.second;
    }
    const bool closes = absl::ConsumeSuffix(&segment, "}");
    if (closes && field < 0) return bad();
    if (segment.empty() || segment == "**" || absl::StrContains(segment, '{')) return bad();
    made.segments_.push_back({segment == "*" ? "" : std::string(segment), field});
    if (field >= 0) {
      std::string& pattern = made.fields_[static_cast<std::size_t>(field)].pattern;
      absl::StrAppend(&pattern, pattern.empty() ? "" : "/", segment);
    }
    if (closes) field = -1;
  }
  if (field >= 0) return bad();
  return made;
}

std::optional<std::map<std::string, std::string>> PathTemplate::Match(
    absl::string_view path) const {
  if (!absl::ConsumePrefix(&path, "/")) return std::nullopt;
  // A verb follows the last colon of the last segment; names have no colon.
  const std::size_t colon = path.rfind(':');
  const std::size_t slash = path.rfind('/');
  absl::string_view verb;
  if (colon != absl::string_view::npos && (slash == absl::string_view::npos || colon > slash)) {
    verb = path.substr(colon + 1);
    path = path.substr(0, colon);
    if (verb.empty()) return std::nullopt;
  }
  if (verb != verb_) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() != segments_.size()) return std::nullopt;
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<std::string> part = PercentDecode(parts[i], /*plus_is_space=*/false);
    if (!part || !IsSegment(*part)) return std::nullopt;
    if (!segments_[i].literal.empty() && *part != segments_[i].literal) return std::nullopt;
    if (segments_[i].field < 0) continue;
    std::string& value = values[fields_[static_cast<std::size_t>(segments_[i].field)].name];
    absl::StrAppend(&value, value.empty() ? "" : "/", *part);
  }
  return values;
}

}  // namespace galen::gateway
