#include "services/node/extract_check.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/knowledge/rules.h"
#include "re2/re2.h"

namespace galen::node {
namespace {

// The memory limit of a pattern of a site.
constexpr std::int64_t kMaxPatternBytes = 1 << 20;

// A pattern without a match may match in the part that was cut off.
absl::Status TooLong(const knowledge::v1::Check& check, absl::string_view source) {
  return absl::ResourceExhaustedError(absl::StrCat(
      check.name(), ": ", source, ": holds more than is read, ", host::kFileBytes >> 20,
      " MiB; declare a command that prints only what the patterns look for"));
}

absl::StatusOr<std::string> ReadSource(const knowledge::v1::Check& check,
                                       const CheckContext& context) {
  const host::View view = check.in_job() ? host::View::kJob : host::View::kHost;
  if (!check.file().empty()) {
    GALEN_ASSIGN_OR_RETURN(std::string content, context.host.ReadFile(check.file(), view));
    if (content.size() >= host::kFileBytes) return TooLong(check, check.file());
    return content;
  }
  if (check.command().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(check.name(), ": declares neither a command nor a file"));
  }
  const std::vector<std::string> argv(check.command().begin(), check.command().end());
  GALEN_ASSIGN_OR_RETURN(host::CommandResult result, context.host.Run(argv, view));
  if (result.exit_code != 0) {
    return absl::AbortedError(
        absl::StrCat(absl::StrJoin(argv, " "), ": exit code ", result.exit_code, ": ",
                     absl::StripAsciiWhitespace(result.err.empty() ? result.out : result.err)));
  }
  if (result.truncated) return TooLong(check, absl::StrJoin(argv, " "));
  return std::move(result.out);
}

galen::v1::Finding Extract(const knowledge::v1::FindingSpec& spec, const RE2& pattern,
                           const std::string& text, const std::string& node) {
  std::string group;
  const bool matches = pattern.NumberOfCapturingGroups() == 0
                           ? RE2::PartialMatch(text, pattern)
                           : RE2::PartialMatch(text, pattern, &group);
  if (spec.type() == "bool") return BoolFinding(spec.name(), node, "", matches);
  if (!matches) return UnknownFinding(spec.name(), node, "");
  const absl::string_view value = absl::StripAsciiWhitespace(group);
  if (spec.type() == "int") {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number)) return UnknownFinding(spec.name(), node, "");
    return IntFinding(spec.name(), node, "", number);
  }
  if (spec.type() == "float") {
    double number = 0;
    if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) {
      return UnknownFinding(spec.name(), node, "");
    }
    return FloatFinding(spec.name(), node, "", number);
  }
  return TextFinding(spec.name(), node, "", value);
}

}  // namespace

absl::StatusOr<CheckOutput> RunExtractCheck(const knowledge::v1::Check& check,
                                            const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSource(check, context));
  CheckOutput output;
  std::vector<std::string> told;
  for (const knowledge::v1::FindingSpec& spec : check.findings()) {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(kMaxPatternBytes);
    // One pattern sees the whole text, so ^ and $ mean lines.
    const RE2 pattern(absl::StrCat("(?m:", spec.pattern(), ")"), options);
    if (!pattern.ok() || pattern.NumberOfCapturingGroups() > 1) {
      return absl::FailedPreconditionError(
          absl::StrCat(check.name(), ": the pattern of finding ", spec.name(),
                       " cannot be used: ", pattern.ok() ? "it has two groups" : pattern.error()));
    }
    galen::v1::Finding finding = Extract(spec, pattern, text, context.host.name());
    told.push_back(absl::StrCat(spec.name(), " is ", knowledge::ValueText(finding)));
    output.findings.push_back(std::move(finding));
  }
  output.message = absl::StrJoin(told, ", ");
  output.excerpt = text;
  return output;
}

}  // namespace galen::node
