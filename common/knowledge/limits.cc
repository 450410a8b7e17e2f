#include "common/knowledge/limits.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "common/knowledge/rules.h"

namespace galen::knowledge {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;

// The findings that a limit may refer to, so that judging each finding does not mean to look
// through all of them.
CheckResult ReferredFindings(const v1::Check& spec, const CheckResult& result) {
  std::set<absl::string_view> names;
  for (const v1::FindingSpec& finding : spec.findings()) {
    if (finding.has_abnormal()) names.insert(finding.abnormal().value());
  }
  CheckResult referred;
  for (const Finding& finding : result.findings()) {
    if (names.contains(finding.name())) *referred.add_findings() = finding;
  }
  return referred;
}

}  // namespace

void ApplyLimits(const v1::Check& spec, CheckResult& result) {
  std::map<absl::string_view, const v1::FindingSpec*> declared;
  for (const v1::FindingSpec& finding : spec.findings()) declared[finding.name()] = &finding;
  const CheckResult referred = ReferredFindings(spec, result);
  for (Finding& finding : *result.mutable_findings()) {
    const auto limits = declared.find(finding.name());
    if (limits == declared.end() || !limits->second->has_abnormal()) continue;
    if (Compare(limits->second->abnormal(), finding, referred) != Truth::kTrue) continue;
    finding.set_abnormal(true);
    if (result.status() == CheckResult::PASS) result.set_status(CheckResult::FAIL);
  }
}

}  // namespace galen::knowledge
