#include "bench/eval/metrics/costs.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/string_view.h"

namespace galen::eval {

CheckCosts CostOfChecks(const v1::CaseResult& result) {
  CheckCosts costs;
  std::set<absl::string_view> checks;
  std::map<absl::string_view, double> nodes;
  for (const v1::CheckRun& run : result.checks()) {
    ++costs.asked;
    if (run.status() == "SKIPPED") continue;
    ++costs.runs;
    checks.insert(run.check());
    costs.machine_seconds += run.cost_seconds();
    double& node = nodes[run.node()];
    node += run.cost_seconds();
    costs.verification_seconds = std::max(costs.verification_seconds, node);
  }
  costs.checks = static_cast<int>(checks.size());
  return costs;
}

v1::Costs MeanCosts(const std::vector<v1::CaseResult>& results) {
  v1::Costs mean;
  if (results.empty()) return mean;
  const auto share = 1.0 / static_cast<double>(results.size());
  for (const v1::CaseResult& result : results) {
    const CheckCosts costs = CostOfChecks(result);
    mean.set_checks(mean.checks() + share * costs.checks);
    mean.set_check_runs(mean.check_runs() + share * costs.runs);
    mean.set_checks_asked(mean.checks_asked() + share * costs.asked);
    mean.set_verification_seconds(mean.verification_seconds() + share * costs.verification_seconds);
    mean.set_machine_seconds(mean.machine_seconds() + share * costs.machine_seconds);
    for (const auto& [method, calls] : result.reasoner().calls()) {
      (*mean.mutable_calls())[method] += share * calls;
      mean.set_reasoner_calls(mean.reasoner_calls() + share * calls);
    }
    mean.set_input_tokens(mean.input_tokens() +
                          share * static_cast<double>(result.reasoner().input_tokens()));
    const v1::ReasonerUse& use = result.reasoner();
    mean.set_model_calls(mean.model_calls() + share * static_cast<double>(use.model_calls()));
    mean.set_money(mean.money() + share * static_cast<double>(use.cost_nanos()) * 1e-9);
    mean.set_most_model_calls(std::max(mean.most_model_calls(), use.model_calls()));
    mean.set_most_input_tokens(std::max(mean.most_input_tokens(), use.input_tokens()));
    mean.set_output_tokens(mean.output_tokens() +
                           share * static_cast<double>(result.reasoner().output_tokens()));
  }
  return mean;
}

}  // namespace galen::eval
