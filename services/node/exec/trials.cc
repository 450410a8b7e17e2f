#include "services/node/exec/trials.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace galen::node {
namespace {

absl::string_view WordOf(TrialEnd end) {
  if (end == TrialEnd::kNotRun) return "was not tried";
  return end == TrialEnd::kPassed ? "passes" : "fails too";
}

}  // namespace

std::vector<Trial> TrialsOf(const knowledge::v1::Check& check) {
  std::vector<Trial> trials;
  for (const knowledge::v1::CheckDatum& datum : check.data()) {
    trials.push_back(
        {.finding = datum.name(), .settings = {datum.texts().begin(), datum.texts().end()}});
  }
  return trials;
}

CheckOutput RunTrials(const std::vector<Trial>& trials, const std::string& node,
                      const RunOnce& run) {
  std::vector<TrialEnd> ends;
  std::vector<std::string> told;
  bool any_passed = false;
  for (const Trial& trial : trials) {
    ends.push_back(run(trial.settings));
    any_passed |= ends.back() == TrialEnd::kPassed;
    told.push_back(
        absl::StrCat("with ", absl::StrJoin(trial.settings, " "), " it ", WordOf(ends.back())));
  }
  const TrialEnd again = any_passed ? run({}) : TrialEnd::kNotRun;
  if (any_passed) {
    told.push_back(again == TrialEnd::kFailed   ? "without it fails again"
                   : again == TrialEnd::kPassed ? "without it passes the second time"
                                                : "without it was not run again");
  }
  CheckOutput output;
  output.message = absl::StrJoin(told, ", ");
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool known = ends[i] == TrialEnd::kFailed ||
                       (ends[i] == TrialEnd::kPassed && again == TrialEnd::kFailed);
    output.findings.push_back(
        known ? BoolFinding(trials[i].finding, node, "", ends[i] == TrialEnd::kPassed)
              : UnknownFinding(trials[i].finding, node, ""));
  }
  return output;
}

}  // namespace galen::node
