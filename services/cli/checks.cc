#include "services/cli/checks.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/knowledge/rules.h"

namespace galen::cli {
namespace {

void PrintJson(const google::protobuf::Message& message, Console& console) {
  std::string json;
  if (google::protobuf::util::MessageToJsonString(message, &json).ok()) console.out << json << '\n';
}

std::string Seconds(const google::protobuf::Duration& cost) {
  return absl::StrCat(static_cast<double>(cost.seconds()) + cost.nanos() * 1e-9, " s");
}

}  // namespace

ExitCode ListChecks(const knowledge::Knowledge& knowledge,
                    const std::vector<std::string>& available, bool json, Console& console) {
  std::set<std::string> have(available.begin(), available.end());
  for (const knowledge::v1::Check& check : knowledge.base().checks()) {
    // Answered by execution, and by no node.
    if (check.kind() == knowledge::v1::Check::PROMQL ||
        check.kind() == knowledge::v1::Check::HISTORY) {
      have.insert(check.name());
    }
  }
  std::size_t widest = 0;
  std::vector<const knowledge::v1::Check*> checks;
  for (const knowledge::v1::Check& check : knowledge.base().checks()) {
    checks.push_back(&check);
    widest = std::max(widest, check.name().size());
  }
  std::sort(checks.begin(), checks.end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
  if (json) {
    for (const auto* check : checks) PrintJson(*check, console);
    return kOk;
  }
  console.out << Paint(console.terminal, Colour::kBold,
                       absl::StrCat(Pad("check", widest + 2), Pad("here", 6), Pad("cost", 9),
                                    Pad("needs", 22), "what it looks at"))
              << '\n';
  for (const auto* check : checks) {
    const bool here =
        have.count(check->name()) > 0 || check->kind() == knowledge::v1::Check::EXTRACT;
    std::string needs = absl::StrJoin(check->needs(), " ");
    if (check->intrusive()) absl::StrAppend(&needs, needs.empty() ? "" : " ", "intrusive");
    std::vector<std::string> parameters;
    for (const auto& parameter : check->parameters()) parameters.push_back(parameter.name());
    console.out << Pad(check->name(), widest + 2) << Pad(here ? "yes" : "–", 6)
                << Pad(Seconds(check->cost()), 9) << Pad(needs, 22) << ' ' << check->title()
                << (parameters.empty() ? ""
                                       : absl::StrCat(" (", absl::StrJoin(parameters, ", "), ")"))
                << '\n';
  }
  console.out << checks.size() << " checks, " << have.size() << " of them available in this version"
              << std::endl;
  return kOk;
}

ExitCode TellResults(absl::Span<const v1::CheckResult> results, bool json, Console& console) {
  ExitCode code = kOk;
  for (const v1::CheckResult& result : results) {
    if (result.status() == v1::CheckResult::ERROR) code = kBroken;
    if (result.status() == v1::CheckResult::FAIL && code == kOk) code = kNoCause;
    if (json) {
      PrintJson(result, console);
      continue;
    }
    Colour colour = Colour::kDim;
    if (result.status() == v1::CheckResult::PASS) colour = Colour::kGreen;
    if (result.status() == v1::CheckResult::FAIL) colour = Colour::kRed;
    if (result.status() == v1::CheckResult::ERROR) colour = Colour::kYellow;
    console.out << Paint(console.terminal, colour,
                         Pad(v1::CheckResult::Status_Name(result.status()), 9))
                << Paint(console.terminal, Colour::kBold, result.id()) << "  " << result.message()
                << '\n';
    for (const v1::Finding& finding : result.findings()) {
      const std::string device = finding.subject().device();
      std::string line = absl::StrCat("         ", Pad(device.empty() ? "node" : device, 16), " ",
                                      finding.name(), " = ", knowledge::ValueText(finding));
      const bool known = finding.value_case() != v1::Finding::VALUE_NOT_SET;
      if (known && !finding.unit().empty()) absl::StrAppend(&line, " ", finding.unit());
      if (!finding.expected().empty())
        absl::StrAppend(&line, "  (expected ", finding.expected(), ")");
      console.out << (finding.abnormal() ? Paint(console.terminal, Colour::kRed, line) : line)
                  << '\n';
    }
  }
  console.out.flush();
  return code;
}

}  // namespace galen::cli
