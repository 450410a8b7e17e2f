#include "common/knowledge/make_result.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/host/secrets.h"
#include "common/knowledge/clean_result.h"
#include "common/knowledge/limits.h"

namespace galen::knowledge {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using v1::FindingSpec;

// The one word that stands for a number (see Compare).
constexpr absl::string_view kUnlimited = "unlimited";

// Secrets are searched for in this much raw output beyond the excerpt, so that a secret at the cut
// is found.
constexpr std::size_t kBeyondExcerpt = 4096;

CheckResult::Status StatusOfError(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
      return CheckResult::SKIPPED;
    default:
      return CheckResult::ERROR;
  }
}

// Names and devices hold none.
void TakeOutSecrets(Finding& finding) {
  if (finding.has_text_value()) {
    finding.set_text_value(host::WithoutSecrets(finding.text_value()));
  } else if (finding.has_event_value()) {
    std::string& text = *finding.mutable_event_value()->mutable_text();
    text = host::WithoutSecrets(text);
  }
  if (!finding.expected().empty()) finding.set_expected(host::WithoutSecrets(finding.expected()));
}

bool HasDeclaredType(const Finding& finding, const FindingSpec& spec) {
  switch (finding.value_case()) {
    case Finding::VALUE_NOT_SET:
      return true;
    case Finding::kBoolValue:
      return spec.type() == "bool";
    case Finding::kIntValue:
      return spec.type() == "int" || spec.type() == "float";
    case Finding::kDoubleValue:
      return spec.type() == "float";
    case Finding::kTextValue:
      if (spec.type() == "int" || spec.type() == "float") {
        return finding.text_value() == kUnlimited;
      }
      return spec.type() == "text" || spec.type() == "enum";
    case Finding::kEventValue:
      return spec.type() == "event";
  }
  return false;
}

}  // namespace

CheckResult ResultWithoutFindings(absl::string_view check, absl::string_view node,
                                  CheckResult::Status status, absl::string_view message) {
  CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(std::string(check));
  result.set_node(std::string(node));
  result.set_status(status);
  result.set_message(host::WithoutSecrets(CleanText(message, kMaxMessageBytes)));
  return result;
}

CheckResult MakeResult(const v1::Check& spec, absl::string_view node,
                       absl::StatusOr<CheckOutput> output) {
  if (!output.ok()) {
    return ResultWithoutFindings(spec.name(), node, StatusOfError(output.status()),
                                 output.status().message());
  }
  std::map<absl::string_view, const FindingSpec*> declared;
  for (const FindingSpec& finding : spec.findings()) declared[finding.name()] = &finding;

  CheckResult result = ResultWithoutFindings(spec.name(), node, CheckResult::PASS, output->message);
  constexpr auto kMost = static_cast<std::size_t>(kMaxFindings);
  if (output->findings.size() > kMost) {
    result.set_message(
        CleanText(absl::StrCat(output->findings.size() - kMost, " of ", output->findings.size(),
                               " findings were left out; ", output->message),
                  kMaxMessageBytes));
    output->findings.resize(kMost);
  }
  for (Finding& finding : output->findings) {
    const auto found = declared.find(finding.name());
    if (found == declared.end() || !HasDeclaredType(finding, *found->second)) {
      return ResultWithoutFindings(
          spec.name(), node, CheckResult::ERROR,
          absl::StrCat(spec.name(), ": emitted finding ", finding.name(),
                       found == declared.end() ? ", which the catalogue does not declare"
                                               : " of another type than the catalogue declares",
                       "; this is a defect of the check"));
    }
    if (finding.unit().empty()) finding.set_unit(found->second->unit());
    finding.mutable_subject();  // there is always one, if only an empty one
    CleanFinding(finding);
    TakeOutSecrets(finding);
    *result.add_findings() = std::move(finding);
  }
  result.set_excerpt(
      CleanText(host::WithoutSecrets(CleanText(output->excerpt, kMaxExcerptBytes + kBeyondExcerpt)),
                kMaxExcerptBytes));
  for (const std::string& wanted : output->wanted) result.add_wanted(host::WithoutSecrets(wanted));
  for (galen::v1::Course& course : output->courses) *result.add_courses() = std::move(course);
  CleanCourses(result);
  CleanWanted(result);
  ApplyLimits(spec, result);
  return result;
}

}  // namespace galen::knowledge
