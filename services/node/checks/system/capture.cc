#include "services/node/checks/system/capture.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxLine = 4096;

}  // namespace

absl::StatusOr<std::string> Output(const host::Host& host, const std::vector<std::string>& argv,
                                   host::View view) {
  GALEN_ASSIGN_OR_RETURN(host::CommandResult result, host.Run(argv, view));
  if (result.exit_code == 0 || !absl::StripAsciiWhitespace(result.out).empty()) {
    return std::move(result.out);
  }
  const absl::string_view complaint = result.err;
  const std::string message =
      absl::StrCat(absl::StrJoin(argv, " "), ": exit status ", result.exit_code, ", ",
                   CleanText(complaint.substr(0, complaint.find('\n')), 200));
  if (absl::StrContains(complaint, "not permitted") ||
      absl::StrContains(absl::AsciiStrToLower(complaint), "permission denied")) {
    return absl::PermissionDeniedError(message);
  }
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<std::string> FirstLine(const host::Host& host, absl::string_view path,
                                      host::View view) {
  GALEN_ASSIGN_OR_RETURN(const std::string content, host.ReadFile(path, view));
  const absl::string_view text = content;
  return std::string(
      absl::StripAsciiWhitespace(text.substr(0, text.find('\n')).substr(0, kMaxLine)));
}

std::vector<absl::string_view> Lines(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (absl::string_view& line : lines) {
    line = absl::StripSuffix(line.substr(0, kMaxLine), "\r");
  }
  return lines;
}

std::vector<absl::string_view> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

std::optional<std::int64_t> LeadingInt(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  std::size_t end = !text.empty() && text[0] == '-' ? 1 : 0;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(text.substr(0, end), &value)) return std::nullopt;
  return value;
}

std::optional<double> LeadingDouble(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  double value = 0;
  const absl::from_chars_result parsed =
      absl::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

absl::string_view BaseName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace galen::node
