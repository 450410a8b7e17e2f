#include "services/cli/triage/triage_command.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/reader.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/profile/job.h"
#include "services/cli/local_mesh.h"
#include "services/cli/triage/logs_of.h"
#include "services/cli/triage/triage_json.h"
#include "services/cli/triage/triage_text.h"

namespace galen::cli {
namespace {

absl::StatusOr<triage::TriageOptions> OptionsOf(const TriageArguments& arguments) {
  triage::TriageOptions options;
  if (arguments.scheduler_state == "running") options.scheduler = triage::SchedulerState::kRunning;
  if (arguments.scheduler_state == "ended") options.scheduler = triage::SchedulerState::kEnded;
  if (!arguments.now.empty()) {
    absl::Time now;
    std::string why;
    if (!absl::ParseTime(absl::RFC3339_full, arguments.now, &now, &why)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--now \"", arguments.now, "\": is not a time such as 2026-05-01T12:00:00Z: ", why));
    }
    options.now = now;
  } else if (options.scheduler == triage::SchedulerState::kRunning) {
    options.now = absl::Now();  // it runs now
  }
  options.near = options.now.value_or(absl::Now());
  return options;
}

// Profiles that lie with the logs are read by another command: how many, and which.
std::string OtherCommand(const TriageArguments& arguments) {
  for (const std::string& path : arguments.paths) {
    const std::size_t count = profile::CountProfiles(path);
    if (count > 0) {
      return absl::StrCat(count, count == 1 ? " file" : " files",
                          " of a profiler, of the flight recorder or of NCCL's RAS: galen profile ",
                          path);
    }
  }
  return "";
}

absl::Status Run(const TriageArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const triage::TriageOptions options, OptionsOf(arguments));
  const std::string other = OtherCommand(arguments);
  const absl::StatusOr<std::vector<std::string>> found = LogsOf(arguments.paths);
  if (absl::IsNotFound(found.status()) && !other.empty()) {
    return absl::NotFoundError(absl::StrCat(found.status().message(), "; there are ", other));
  }
  GALEN_RETURN_IF_ERROR(found.status());
  const std::vector<std::string>& logs = *found;
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const auto knowledge, LoadKnowledge(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(triage::Catalogue catalogue, triage::LoadCatalogue(directories));
  GALEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<const triage::CompiledCatalogue> compiled,
      triage::CompiledCatalogue::Create(std::move(catalogue), triage::SignaturesOf(*knowledge),
                                        knowledge::DefaultCacheDirectory()));
  triage::JobTriage job(*compiled, options);
  bool any = false;
  for (const std::string& path : logs) {
    job.BeginLog(path);
    const auto reader = log_scan::LogReader::Open(path, {});
    absl::Status trouble = reader.status();
    while (trouble.ok()) {
      const auto chunk = (*reader)->Next();
      trouble = chunk.status();
      if (!chunk.ok() || chunk->empty()) break;
      any = true;
      job.Feed(*chunk);
    }
    if (trouble.ok() && (*reader)->truncated()) trouble = absl::DataLossError("is too long");
    job.EndLog(trouble.message());
    if (!trouble.ok()) console.err << "galen: " << trouble.message() << std::endl;
  }
  if (!any) {
    return absl::NotFoundError(absl::StrCat(logs.front(), ": nothing could be read of the logs"));
  }
  const triage::JobReport report = job.Finish();
  if (arguments.json) {
    console.out << TriageJson(report) << std::endl;
  } else {
    console.out << TriageText(report, console.terminal);
    if (!other.empty()) console.out << Pad("profiles", 12) << other << '\n';
    console.out << std::flush;
  }
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareTriage(CLI::App& app, TriageArguments& arguments) {
  CLI::App* triage = app.add_subcommand(
      "triage", "State of a job, why it died and how far it got, from its logs (docs/triage.md)");
  triage->add_option("path", arguments.paths, "A log of the job, or its directory; repeatable")
      ->required()
      ->type_name("PATH");
  triage
      ->add_option("--now", arguments.now,
                   "Time of the question (2026-05-01T12:00:00Z); none: now if the scheduler says "
                   "that the job runs, else the end of the logs")
      ->type_name("TIME");
  triage
      ->add_option("--scheduler-state", arguments.scheduler_state,
                   "State of the job according to the scheduler: running, ended, unknown")
      ->check(CLI::IsMember({"running", "ended", "unknown"}))
      ->capture_default_str();
  triage->add_flag("--json", arguments.json, "Print only the report as JSON");
  triage
      ->add_option("--knowledge", arguments.knowledge,
                   "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                   "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
  return triage;
}

ExitCode RunTriage(const TriageArguments& arguments, Console& console) {
  const absl::Status status = Run(arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
