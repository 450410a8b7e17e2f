#include "services/cli/bundle_commands.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/host/capture.h"
#include "common/host/capture_plan.h"
#include "common/host/edit.h"
#include "common/host/live_host.h"
#include "common/intake/kinds.h"
#include "common/intake/text.h"
#include "common/knowledge/load.h"
#include "services/cli/answer.h"
#include "services/cli/bundle_evidence.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

// How long a killed command that is stuck in the kernel may take to exit.
constexpr absl::Duration kDying = absl::Seconds(3);
// Bytes of a log that are read to recognise its kind.
constexpr std::size_t kLookedAt = 4 << 20;

absl::StatusOr<std::string> Slurp(const std::string& path, std::istream& standard_input) {
  std::ostringstream content;
  if (path == "-") {
    content << standard_input.rdbuf();
    return content.str();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("--output ", path, ": cannot be read"));
  content << file.rdbuf();
  return content.str();
}

absl::Status Capture(const CaptureArguments& arguments, Console& console) {
  std::string plan_file = arguments.plan;
  if (plan_file.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                           knowledge::FindDirectories(arguments.knowledge));
    plan_file = absl::StrCat(directories.front(), "/capture.txt");
  }
  GALEN_ASSIGN_OR_RETURN(const host::CapturePlan plan, host::LoadCapturePlan(plan_file));
  // All of it within `time`, whatever hangs, and beside the logs: what is begun in the first three
  // tenths may take six and a half, and commands end in time for one that does not die at once.
  const absl::Time start = absl::Now();
  const absl::Duration time = absl::Seconds(arguments.time_s);
  const absl::Time begun = SteadyNow();
  host::LiveHost::Options live;
  live.command.time = 0.65 * time;
  live.commands_by = begun + std::max(time - kDying, 0.5 * time);
  live.read_time = 0.2 * time;
  if (arguments.job_pid > 0) live.job_pid = arguments.job_pid;
  const host::LiveHost machine(live);
  host::CaptureOptions options;
  options.directory = arguments.directory;
  options.incident.set_description(arguments.description);
  options.now = start;
  options.begin_by = begun + 0.3 * time;
  options.redact_paths = arguments.redact_paths;
  if (arguments.job_pid > 0) options.values["job_pid"] = {absl::StrCat(arguments.job_pid)};
  for (const std::vector<std::string>* logs : {&arguments.logs, &arguments.more_logs}) {
    for (const std::string& log : *logs) {
      host::CaptureOptions::Log entry;
      entry.path = log;
      options.logs.push_back(entry);
    }
  }
  console.err << "capturing " << machine.name() << " ..." << std::endl;
  GALEN_ASSIGN_OR_RETURN(const host::CaptureSummary summary, host::Capture(machine, plan, options));
  console.out
      << summary.directory << ": " << summary.commands << " commands, " << summary.files
      << " files; " << summary.absent << " programs are not installed, " << summary.timed_out
      << " gave no answer, " << summary.refused.size() << " could not be captured, "
      << summary.redacted.size() << " secrets taken out\n"
      << "look through it before you send it; bundle.yaml lists what was refused and redacted"
      << std::endl;
  return absl::OkStatus();
}

// Sees to it that checks read what was added, and says whether they do.
absl::Status TellWhatItIs(const AddArguments& arguments, absl::string_view content,
                          Console& console) {
  GALEN_ASSIGN_OR_RETURN(const auto knowledge, LoadKnowledge({}));
  GALEN_ASSIGN_OR_RETURN(const auto kinds, intake::Kinds::Compile(knowledge->base()));
  GALEN_ASSIGN_OR_RETURN(const std::string told,
                         AddAsChecksRead(arguments, content, *kinds, *knowledge));
  console.out << told << std::endl;
  return absl::OkStatus();
}

absl::Status Add(const AddArguments& arguments, Console& console) {
  const host::View view = arguments.in_job ? host::View::kJob : host::View::kHost;
  const int kinds = (arguments.command.empty() ? 0 : 1) + (arguments.file.empty() ? 0 : 1) +
                    (arguments.log.empty() ? 0 : 1) + (arguments.environment.empty() ? 0 : 1);
  if (kinds != 1) {
    return absl::InvalidArgumentError(
        "add one thing at a time: --output FILE -- COMMAND..., --file PATH --from FILE, --log "
        "FILE, "
        "or --env NAME=VALUE");
  }
  if (!arguments.log.empty()) {
    host::LogDetails details;
    details.node = arguments.node;
    if (arguments.rank >= 0) details.rank = arguments.rank;
    GALEN_RETURN_IF_ERROR(host::AddLog(arguments.directory, arguments.log, details));
    std::ifstream file(arguments.log, std::ios::binary);
    std::string content(kLookedAt, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    return TellWhatItIs(arguments, content, console);
  }
  if (arguments.node.empty()) {
    return absl::InvalidArgumentError("--node: name the node that this belongs to");
  }
  if (!arguments.environment.empty()) {
    std::map<std::string, std::string> variables;
    for (const std::string& variable : arguments.environment) {
      const std::vector<std::string> parts = absl::StrSplit(variable, absl::MaxSplits('=', 1));
      if (parts.size() != 2 || parts[0].empty()) {
        return absl::InvalidArgumentError(absl::StrCat("--env ", variable, ": is not NAME=VALUE"));
      }
      variables[parts[0]] = parts[1];
    }
    return host::AddEnvironment(arguments.directory, arguments.node, variables);
  }
  if (!arguments.file.empty()) {
    if (arguments.absent) {
      return host::AddAbsentFile(arguments.directory, arguments.node, view, arguments.file);
    }
    if (arguments.from.empty()) {
      return absl::InvalidArgumentError(
          "--file: say with --from where its content is, or --absent");
    }
    return host::AddFile(arguments.directory, arguments.node, view, arguments.file, arguments.from);
  }
  if (arguments.absent) {
    return host::AddAbsentCommand(arguments.directory, arguments.node, view, arguments.command);
  }
  if (arguments.output.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(arguments.command, " "),
                     ": say with --output which file holds what it printed (- for standard input), "
                     "or --absent"));
  }
  host::CommandOutput output;
  GALEN_ASSIGN_OR_RETURN(const std::string given, Slurp(arguments.output, console.in));
  output.out = intake::PlainOutput(given);
  output.exit_code = arguments.exit_code;
  GALEN_RETURN_IF_ERROR(
      host::AddCommand(arguments.directory, arguments.node, view, arguments.command, output));
  return TellWhatItIs(arguments, output.out, console);
}

}  // namespace

CLI::App* DeclareBundle(CLI::App& app, BundleArguments& arguments) {
  CLI::App* bundle = app.add_subcommand("bundle", "Make a support bundle");
  bundle->require_subcommand(1);
  CLI::App* capture = bundle->add_subcommand("capture", "Make a bundle of this machine");
  capture->add_option("directory", arguments.capture.directory, "A new directory")->required();
  capture->add_option("--description", arguments.capture.description,
                      "Description of the incident");
  capture->add_option("logs", arguments.capture.more_logs, "Further logs to include")
      ->type_name("FILE");
  capture->add_option("--log", arguments.capture.logs, "A log to include; repeatable")
      ->type_name("FILE");
  capture->add_option("--job-pid", arguments.capture.job_pid, "A process of the job");
  capture->add_option("--time", arguments.capture.time_s, "Seconds for everything except the logs")
      ->check(CLI::Range(1.0, 600.0))
      ->capture_default_str();
  capture->add_flag("--redact-paths", arguments.capture.redact_paths,
                    "Redact paths below home, data and scratch directories, and of buckets");
  capture
      ->add_option("--plan", arguments.capture.plan,
                   "List of what to read, in place of capture.txt")
      ->type_name("FILE");
  DeclareKnowledge(*capture, arguments.capture.knowledge);
  CLI::App* create = bundle->add_subcommand("new", "Make an empty bundle");
  create->add_option("directory", arguments.create.directory, "A new directory")->required();
  create->add_option("--description", arguments.create.description, "Description of the incident")
      ->required();
  create->add_option("--node", arguments.create.nodes, "A host; repeatable")->type_name("HOST");
  CLI::App* add = bundle->add_subcommand("add", "Add one output, file, log or variable");
  add->add_option("directory", arguments.add.directory, "The bundle")->required();
  add->add_option("--node", arguments.add.node, "The host it belongs to")->type_name("HOST");
  add->add_flag("--job", arguments.add.in_job, "The piece is from the job's container");
  add->add_option("--output", arguments.add.output,
                  "File with the output of the command; - for standard input")
      ->type_name("FILE");
  add->add_option("--exit", arguments.add.exit_code, "Exit code of the command");
  add->add_flag("--absent", arguments.add.absent, "The command or file is known to be missing");
  add->add_option("--file", arguments.add.file, "Absolute path of a file on the node");
  add->add_option("--from", arguments.add.from, "File that has its content here")
      ->type_name("FILE");
  add->add_option("--log", arguments.add.log, "A log")->type_name("FILE");
  add->add_option("--rank", arguments.add.rank, "The rank that wrote the log");
  add->add_option("--env", arguments.add.environment, "A variable of the job; repeatable")
      ->type_name("NAME=VALUE");
  add->add_option("command", arguments.add.command, "The command as it was run, after --");
  return bundle;
}

ExitCode CaptureBundle(const CaptureArguments& arguments, Console& console) {
  return ExitWith(Capture(arguments, console), console);
}

ExitCode NewBundle(const NewBundleArguments& arguments, Console& console) {
  const absl::Status status =
      host::NewBundle(arguments.directory, arguments.description, arguments.nodes, absl::Now());
  if (status.ok()) {
    console.out << arguments.directory << ": made; add to it with `galen bundle add "
                << arguments.directory << "`" << std::endl;
  }
  return ExitWith(status, console);
}

ExitCode AddToBundle(const AddArguments& arguments, Console& console) {
  return ExitWith(Add(arguments, console), console);
}

ExitCode RunBundle(const CLI::App& bundle, const BundleArguments& arguments, Console& console) {
  if (bundle.got_subcommand("capture")) return CaptureBundle(arguments.capture, console);
  if (bundle.got_subcommand("new")) return NewBundle(arguments.create, console);
  return AddToBundle(arguments.add, console);
}

}  // namespace galen::cli
