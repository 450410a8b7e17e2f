#include "services/execution/repairs/recovery.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/knowledge/rules.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using galen::v1::Device;
using galen::v1::Finding;

const CheckResult* ResultOf(const std::vector<CheckResult>& results, const std::string& check,
                            const std::string& node) {
  for (const CheckResult& result : results) {
    if (result.check() == check && result.node() == node) return &result;
  }
  return nullptr;
}

}  // namespace

bool IsAbout(const Finding& finding, const Device& target) {
  if (target.device().empty()) return true;
  const Device& subject = finding.subject();
  if (!subject.pci_address().empty() && !target.pci_address().empty()) {
    return subject.pci_address() == target.pci_address();
  }
  return subject.device() == target.device();
}

Recovered RecoveryOf(const std::vector<remediation::RunAction::Recovery>& promises,
                     const Device& target, const std::vector<CheckResult>& results) {
  Recovered recovered{true, ""};
  std::vector<std::string> said;
  for (const remediation::RunAction::Recovery& promise : promises) {
    const CheckResult* const result = ResultOf(results, promise.check, target.node());
    bool found = false;
    bool is = true;
    std::string value;
    if (result != nullptr) {
      for (const Finding& finding : result->findings()) {
        if (finding.name() != promise.finding || !IsAbout(finding, target)) continue;
        if (finding.value_case() == Finding::VALUE_NOT_SET) continue;
        found = true;
        value = knowledge::ValueText(finding);
        is = is && value == promise.is;
      }
    }
    if (!found) {
      const std::string why = result == nullptr ? "no answer" : result->message();
      said.push_back(absl::StrCat(promise.check, " does not tell ", promise.finding,
                                  why.empty() ? "" : absl::StrCat(" (", why, ")")));
    } else {
      said.push_back(absl::StrCat(promise.check, " finds ", promise.finding, " ", value,
                                  is ? "" : absl::StrCat(", and not ", promise.is)));
    }
    recovered.all = recovered.all && found && is;
  }
  recovered.text = absl::StrJoin(said, "; ");
  return recovered;
}

}  // namespace galen::execution
