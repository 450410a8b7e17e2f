#include "common/host/redact.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"

namespace galen::host {
namespace {

absl::StatusOr<std::unique_ptr<re2::RE2>> Compile(absl::string_view pattern) {
  // Latin-1: tool output need not be UTF-8, and each byte must stay as it is.
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  auto regex =
      std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!regex->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", pattern, "\": is not a valid RE2 pattern: ", regex->error()));
  }
  return regex;
}

// Number of groups of a pattern that are read, including the whole match.
constexpr int kMostGroups = 8;

std::string RedactOne(const re2::RE2& regex, absl::string_view text,
                      absl::FunctionRef<bool(absl::string_view)> is_none, int& count) {
  const re2::StringPiece input = Piece(text);
  std::array<re2::StringPiece, kMostGroups> groups;
  const int used = std::min(regex.NumberOfCapturingGroups() + 1, kMostGroups);
  std::string out;
  std::size_t copied = 0;
  std::size_t from = 0;
  while (from <= text.size() &&
         regex.Match(input, from, text.size(), re2::RE2::UNANCHORED, groups.data(), used)) {
    const re2::StringPiece match = groups[0];
    // Only one alternative matches; the groups of the others are null.
    re2::StringPiece secret = used > 1 ? re2::StringPiece() : match;
    for (int i = 1; i < used && secret.data() == nullptr; ++i) {
      secret = groups[static_cast<std::size_t>(i)];
    }
    const auto match_end = static_cast<std::size_t>(match.data() + match.size() - text.data());
    // An empty match must not stop the loop.
    from = match.empty() ? match_end + 1 : match_end;
    if (secret.empty() || absl::string_view(secret.data(), secret.size()) == kRedacted) continue;
    if (is_none(absl::string_view(match.data(), match.size()))) continue;
    const auto begin = static_cast<std::size_t>(secret.data() - text.data());
    absl::StrAppend(&out, text.substr(copied, begin - copied), kRedacted);
    copied = begin + secret.size();
    ++count;
  }
  absl::StrAppend(&out, text.substr(copied));
  return out;
}

}  // namespace

Redactor::Redactor() = default;
Redactor::~Redactor() = default;
Redactor::Redactor(Redactor&&) noexcept = default;
Redactor& Redactor::operator=(Redactor&&) noexcept = default;

absl::Status Redactor::AddPattern(absl::string_view kind, absl::string_view pattern) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<re2::RE2> regex, Compile(pattern));
  patterns_.push_back({std::string(kind), std::move(regex)});
  return absl::OkStatus();
}

absl::Status Redactor::AddVariablePattern(absl::string_view pattern) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<re2::RE2> regex, Compile(pattern));
  names_.push_back(std::move(regex));
  return absl::OkStatus();
}

absl::Status Redactor::AddException(absl::string_view pattern) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<re2::RE2> regex, Compile(pattern));
  exceptions_.push_back(std::move(regex));
  return absl::OkStatus();
}

bool Redactor::IsException(absl::string_view whole) const {
  const re2::StringPiece input = Piece(whole);
  return std::any_of(
      exceptions_.begin(), exceptions_.end(),
      [&](const std::unique_ptr<re2::RE2>& regex) { return re2::RE2::FullMatch(input, *regex); });
}

std::string Redactor::Redact(absl::string_view text, std::map<std::string, int>& counts) const {
  std::string clean(text);
  for (const Pattern& pattern : patterns_) {
    int count = 0;
    clean = RedactOne(
        *pattern.regex, clean, [this](absl::string_view match) { return IsException(match); },
        count);
    if (count > 0) counts[pattern.kind] += count;
  }
  return clean;
}

bool Redactor::IsSecretName(absl::string_view name) const {
  const re2::StringPiece input = Piece(name);
  return std::any_of(names_.begin(), names_.end(), [&](const std::unique_ptr<re2::RE2>& regex) {
    return re2::RE2::PartialMatch(input, *regex);
  });
}

bool Redactor::IsSecret(absl::string_view name, absl::string_view value) const {
  return IsSecretName(name) && !IsException(absl::StrCat(name, "=", value));
}

std::string ShownCounts(const std::map<std::string, int>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  });
}

}  // namespace galen::host
