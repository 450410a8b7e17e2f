#include "services/orchestrator/supplied_evidence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace galen::orchestrator {
namespace {

using v1::CheckResult;
using v1::Finding;

bool IsOfTheSame(const Finding& a, const Finding& b) {
  return a.name() == b.name() && a.subject().device() == b.subject().device();
}

bool HasValue(const Finding& finding) { return finding.value_case() != Finding::VALUE_NOT_SET; }

Finding* FindSame(CheckResult& result, const Finding& finding) {
  const auto same =
      std::find_if(result.mutable_findings()->begin(), result.mutable_findings()->end(),
                   [&](const Finding& each) { return IsOfTheSame(each, finding); });
  return same == result.mutable_findings()->end() ? nullptr : &*same;
}

bool HasEvent(const CheckResult& result, const Finding& finding) {
  return std::any_of(result.findings().begin(), result.findings().end(), [&](const Finding& each) {
    return IsOfTheSame(each, finding) && each.has_event_value() &&
           each.event_value().code() == finding.event_value().code() &&
           each.event_value().text() == finding.event_value().text();
  });
}

std::string Place(const CheckResult& result, const Finding& finding) {
  return finding.subject().device().empty()
             ? result.node()
             : absl::StrCat(finding.subject().device(), " on ", result.node());
}

}  // namespace

bool IsDefinite(const CheckResult& result) {
  return result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
}

MergedResult MergeSupplied(const CheckResult& machine, const CheckResult& told,
                           bool machine_is_newer) {
  MergedResult merged;
  if (!IsDefinite(told)) {
    merged.result = machine;
    return merged;
  }
  if (!IsDefinite(machine)) {
    merged.result = told;
    return merged;
  }
  CheckResult& result = merged.result;
  result = machine;
  const auto contradict = [&](const Finding& finding) {
    merged.contradictions.push_back(absl::StrCat(
        result.check(), ", ", finding.name(), " of ", Place(result, finding),
        ": the output that was given says \"", told.message(), "\", the machine itself ",
        machine_is_newer ? "now says \"" : "said \"", machine.message(), "\""));
  };
  bool uses_told = false;
  for (const Finding& finding : told.findings()) {
    if (finding.has_event_value()) {
      if (HasEvent(result, finding)) continue;
      *result.add_findings() = finding;
      uses_told = true;
      continue;
    }
    Finding* const own = FindSame(result, finding);
    if (own == nullptr) {
      *result.add_findings() = finding;
      uses_told = true;
    } else if (!HasValue(finding)) {
      continue;
    } else if (!HasValue(*own)) {
      *own = finding;
      uses_told = true;
    } else if (own->abnormal() == finding.abnormal()) {
      if (machine_is_newer) continue;
      *own = finding;
      uses_told = true;
    } else {
      contradict(finding);
      if (own->abnormal()) continue;
      uses_told = true;
      if (machine_is_newer) {
        own->clear_value();
      } else {
        *own = finding;
      }
    }
  }
  const bool abnormal = std::any_of(result.findings().begin(), result.findings().end(),
                                    [](const Finding& each) { return each.abnormal(); });
  // A check may fail for a reason outside its findings.
  if (abnormal || (!uses_told && machine.status() == CheckResult::FAIL)) {
    result.set_status(CheckResult::FAIL);
  }
  if (!uses_told) return merged;
  result.set_told(told.told());
  if (machine_is_newer && !merged.contradictions.empty()) {
    result.set_message(
        absl::StrCat(machine.message(), "; the output that was given says: ", told.message()));
    return merged;
  }
  result.set_message(told.message());
  result.set_excerpt(told.excerpt());
  *result.mutable_observe_time() = told.observe_time();
  return merged;
}

bool AreEquivalent(const CheckResult& a, const CheckResult& b) {
  return a.status() == b.status() && a.findings_size() == b.findings_size() &&
         std::equal(a.findings().begin(), a.findings().end(), b.findings().begin(),
                    [](const Finding& left, const Finding& right) {
                      return left.SerializeAsString() == right.SerializeAsString();
                    });
}

CheckResult EarlierAbnormalFindings(const CheckResult& earlier) {
  CheckResult seen = earlier;
  auto& findings = *seen.mutable_findings();
  findings.erase(std::remove_if(findings.begin(), findings.end(),
                                [](const Finding& each) {
                                  return !each.abnormal() && !each.has_event_value();
                                }),
                 findings.end());
  seen.set_message(absl::StrCat(earlier.message(), " (seen before; it could not be read again)"));
  return seen;
}

}  // namespace galen::orchestrator
