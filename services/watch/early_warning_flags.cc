#include "services/watch/early_warning_flags.h"

#include <map>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/observability/log/log.h"
#include "common/perfmodel/calibrate.h"
#include "common/perfmodel/tables/read_table.h"
#include "common/telemetry/open_source.h"
#include "common/telemetry/rules.h"
#include "services/watch/early_warning/detection/rules.h"

ABSL_FLAG(bool, early_warning, false,
          "Read the time series of --prometheus every minute, and open a diagnosis for a fault "
          "before people notice it, once for each cause (docs/warning.md).");
ABSL_FLAG(std::vector<std::string>, prometheus, {},
          "With --early_warning: addresses of Prometheus-compatible servers, separated by commas.");
ABSL_FLAG(std::vector<std::string>, prometheus_key_file, {},
          "Files with the value of the Authorization header, \"Bearer x\" or \"Basic x\": one for "
          "each server, in their order; none: without.");
ABSL_FLAG(std::vector<std::string>, prometheus_headers_file, {},
          "Files with further headers, such as X-Scope-OrgID, one on each line: one file for each "
          "server, in their order; none: without.");
ABSL_FLAG(double, early_budget, 0,
          "False alarms a week after which early warning reports only clear signs; 0: the "
          "knowledge's value.");

ABSL_FLAG(
    std::string, early_jobs, "",
    "Directory of job descriptions, LABEL.yaml for the job with label LABEL in telemetry, in the "
    "format of galen model predict --job. Throughput is compared with the performance "
    "model's prediction.");

namespace galen::watch {
namespace {

absl::StatusOr<std::shared_ptr<early_warning::JobFiles>> OpenJobs(
    const std::vector<std::string>& directories, const knowledge::Knowledge& knowledge) {
  early_warning::JobFiles::Options options;
  options.directory = absl::GetFlag(FLAGS_early_jobs);
  if (options.directory.empty()) return nullptr;
  early_warning::HardwareFacts facts;
  for (const auto& hardware : knowledge.base().hardware()) {
    facts[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
  }
  const auto find = [&facts](const std::string& model) -> const std::map<std::string, double>* {
    const auto found = facts.find(model);
    return found != facts.end() ? &found->second : nullptr;
  };
  GALEN_ASSIGN_OR_RETURN(const std::vector<perfmodel::Measurement> measurements,
                         perfmodel::LoadTables(directories, find));
  GALEN_ASSIGN_OR_RETURN(perfmodel::Calibration calibration, perfmodel::Calibrate(measurements));
  return early_warning::JobFiles::Open(std::move(options), std::move(facts),
                                       std::move(calibration));
}

}  // namespace

absl::StatusOr<std::unique_ptr<early_warning::EarlyWarning>> OpenEarlyWarning(
    store::Store& store, const Clock& clock, const std::vector<std::string>& directories,
    const knowledge::Knowledge& knowledge, const std::string& owner, const std::string& parent,
    early_warning::EarlyWarning::Open open) {
  if (!absl::GetFlag(FLAGS_early_warning)) return nullptr;
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<telemetry::SourceAddress> sources,
      telemetry::PairSources(absl::GetFlag(FLAGS_prometheus),
                             absl::GetFlag(FLAGS_prometheus_key_file),
                             absl::GetFlag(FLAGS_prometheus_headers_file), "--prometheus_"));
  if (sources.empty()) {
    return absl::InvalidArgumentError("--early_warning: needs --prometheus, to have its numbers");
  }
  if (absl::GetFlag(FLAGS_early_budget) < 0) {
    return absl::InvalidArgumentError("--early_budget: must be 0 or more");
  }
  GALEN_ASSIGN_OR_RETURN(telemetry::OpenedSource opened, telemetry::OpenSources(sources));
  GALEN_ASSIGN_OR_RETURN(telemetry::Rules rules, telemetry::LoadRules(directories));
  GALEN_ASSIGN_OR_RETURN(watch::detection::RuleSet rule_set,
                         watch::detection::LoadRules(directories));
  if (absl::GetFlag(FLAGS_early_budget) > 0) {
    rule_set.policy.budget_per_week = absl::GetFlag(FLAGS_early_budget);
  }
  early_warning::EarlyWarning::Options options;
  options.owner = owner;
  options.parent = parent;
  GALEN_ASSIGN_OR_RETURN(options.jobs, OpenJobs(directories, knowledge));
  options.on_problem = [](const absl::Status& problem) {
    log::Warning(absl::StrCat("early warning: ", problem.message()));
  };
  auto early = std::make_unique<early_warning::EarlyWarning>(
      store, std::move(opened.source), std::move(rules), std::move(rule_set), clock,
      std::move(open), std::move(options));
  early->Start();
  return early;
}

}  // namespace galen::watch
