#include "services/execution/playbook/lint.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "services/execution/playbook/series_tests.h"

namespace galen::playbook {
namespace {

using knowledge::v1::Rule;

bool Gives(absl::string_view test_type, absl::string_view declared) {
  if (test_type == "float") return declared == "float" || declared == "int";
  if (test_type == "text") return declared == "text" || declared == "enum";
  return test_type == declared;
}

// A rule, or one of its conditions.
bool Uses(const google::protobuf::RepeatedPtrField<Rule>& rules, const Step& step) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return (rule.check() == step.check && rule.finding() == step.finding) ||
           Uses(rule.with(), step);
  });
}

}  // namespace

std::vector<std::string> Lint(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules,
                              const knowledge::Knowledge& knowledge) {
  std::vector<std::string> faults;
  std::set<std::string> answered;
  for (const Playbook& playbook : catalogue.playbooks) {
    for (const Step& step : playbook.steps) {
      const auto fault = [&](absl::string_view what) {
        faults.push_back(absl::StrCat(step.file, ":", step.line, ": ", what));
      };
      answered.insert(step.check);
      const auto* const spec = knowledge.FindFinding(step.check, step.finding);
      if (knowledge.FindCheck(step.check) == nullptr) {
        fault(absl::StrCat("check: ", step.check, " is not in the catalogue"));
      } else if (spec == nullptr) {
        fault(absl::StrCat("finding: ", step.check, " declares no ", step.finding));
      } else if (!Gives(FindSeriesTest(step.test)->type, spec->type())) {
        fault(absl::StrCat("test: ", step.test, " gives ", FindSeriesTest(step.test)->type,
                           ", and ", step.finding, " is declared as ", spec->type()));
      }
      for (const std::string& name : step.of) {
        if (rules.Find(name) == nullptr && catalogue.FindQuery(name) == nullptr) {
          fault(absl::StrCat("of: ", name,
                             " is neither a quantity of telemetry/sources.yaml nor a query"));
        }
      }
      for (const std::string& label : step.points_to) {
        const auto* const leaf = knowledge.FindLabel(label);
        if (leaf == nullptr) {
          fault(absl::StrCat("points_to: ", label, " is not in the taxonomy"));
        } else if (!Uses(leaf->confirm(), step) && !Uses(leaf->refute(), step)) {
          fault(absl::StrCat("points_to: no rule of ", label, " reads ", step.check, ": ",
                             step.finding));
        }
      }
    }
  }
  for (const auto& check : knowledge.base().checks()) {
    if (check.kind() == knowledge::v1::Check::PROMQL && answered.count(check.name()) == 0) {
      faults.push_back(absl::StrCat("playbooks: none answers check ", check.name()));
    }
  }
  return faults;
}

}  // namespace galen::playbook
