// galen: the command line. This file declares the commands and their options; each command is in a
// file of its own.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/locks.h"
#include "common/base/version.h"
#include "common/host/bundle.h"
#include "common/intake/kinds.h"
#include "common/observability/log/line.h"
#include "common/observability/metrics/registry.h"
#include "common/observability/trace/trace.h"
#include "common/reasoner/llm/open_model.h"
#include "common/rpc/security.h"
#include "common/rpc/serve.h"
#include "services/cli/bundle_commands.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/checks.h"
#include "services/cli/checks_doc.h"
#include "services/cli/diagnose.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"
#include "services/cli/remote_checks.h"
#include "services/cli/settings.h"
#include "services/cli/show_check.h"
#include "services/cli/source_options.h"
#include "services/cli/tool_commands.h"
#include "services/cli/up.h"
#include "services/cli/watch.h"
#include "services/orchestrator/strategy.h"

namespace galen::cli {
namespace {

struct Arguments {
  std::vector<std::string> knowledge;
  DiagnoseArguments diagnose;
  std::string store;
  std::string listen;
  std::vector<std::string> roots;
  std::string default_strategy{orchestrator::kDefaultStrategy};
  std::string tests = "approved";
  double drain_grace = 20;
  bool json = false;
  std::string bundle;
  std::vector<std::string> checks;
  std::string check;
  std::vector<std::string> nodes;
  std::string server;
  bool allow_intrusive = false;
  bool allow_busy = false;
  std::vector<std::string> settings;
  CaptureArguments capture;
  NewBundleArguments create;
  AddArguments add;
  std::string site;
  std::string history;
  SourceOptions sources;
  std::string llm;
  std::string llm_cache;
  std::string metrics;
  std::string log_format = "auto";
  std::string show_reasoning;
  rpc::SecurityOptions security;
};

ExitCode RunDiagnose(const Arguments& arguments, Console& console) {
  const auto refuse = [&](const absl::Status& status) {
    console.err << "galen: " << status.message() << std::endl;
    return ExitCodeOf(status);
  };
  // Keeps an archive unpacked while it is diagnosed.
  std::shared_ptr<const host::Bundle> bundle;
  if (!arguments.diagnose.bundle.empty()) {
    auto opened = host::Bundle::Open(arguments.diagnose.bundle);
    if (!opened.ok()) return refuse(opened.status());
    bundle = *std::move(opened);
    for (const std::string& remark : bundle->remarks()) console.err << "note: " << remark << '\n';
  }
  absl::StatusOr<std::vector<intake::Text>> texts = GatherTexts(arguments.diagnose, console.in);
  if (!texts.ok()) return refuse(texts.status());
  if (const absl::Status added =
          AddLogsFrom(arguments.sources, arguments.diagnose, arguments.knowledge, bundle.get(),
                      *texts, console.err);
      !added.ok()) {
    return refuse(added);
  }
  DiagnoseArguments diagnose = arguments.diagnose;
  if (!arguments.show_reasoning.empty()) {
    const absl::StatusOr<ReasoningForm> form = ParseReasoningForm(arguments.show_reasoning);
    if (!form.ok()) return refuse(form.status());
    diagnose.show_reasoning = *form;
  }
  absl::StatusOr<std::unique_ptr<reasoner::llm::OpenedModel>> model =
      reasoner::llm::OpenedModel::Open(arguments.llm, arguments.llm_cache, arguments.knowledge);
  if (!model.ok()) return refuse(model.status());
  std::unique_ptr<DiagnosisApi> api;
  Gathered gathered;
  if (!arguments.diagnose.server.empty()) {
    absl::StatusOr<v1::Incident> incident =
        IncidentForServer(arguments.diagnose, *texts, bundle.get());
    if (!incident.ok()) return refuse(incident.status());
    gathered.incident = *std::move(incident);
    auto remote = ConnectTo(arguments.diagnose.server, arguments.security);
    if (!remote.ok()) return refuse(remote.status());
    api = *std::move(remote);
  } else {
    LocalMesh::Options options;
    options.knowledge = arguments.knowledge;
    if (const absl::Status loaded = options.Load(); !loaded.ok()) return refuse(loaded);
    const auto kinds = intake::Kinds::Compile(options.loaded->base());
    if (!kinds.ok()) return refuse(kinds.status());
    if (!arguments.store.empty()) {
      diagnose.keep_in = EvidenceBeside(arguments.store);
      options.evidence = diagnose.keep_in;
    }
    auto sources = arguments.sources.Prometheus();
    if (!sources.ok()) return refuse(sources.status());
    options.prometheus = *std::move(sources);
    absl::StatusOr<Gathered> made =
        GatherWithNumbers(diagnose, *texts, bundle.get(), **kinds, &options);
    if (!made.ok()) return refuse(made.status());
    gathered = *std::move(made);
    options.job_logs = gathered.job_logs;
    if (!arguments.store.empty()) options.store = arguments.store;
    options.owner = OwnerIn(options.store, options.owner, absl::StrCat(getpid()));
    options.model = reasoner::llm::PlannersModelOf(model->get());
    options.history = arguments.history;
    absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = LocalMesh::Start(options);
    if (!mesh.ok()) return refuse(mesh.status());
    api = *std::move(mesh);
  }
  // A caller within a trace of its own passes it as OpenTelemetry's command line tools do.
  const char* parent = std::getenv("TRACEPARENT");
  const trace::Scope scope(
      {trace::Parse(parent == nullptr ? "" : parent).value_or(trace::Context()), ""});
  diagnose.stored = !arguments.store.empty() || !arguments.diagnose.server.empty();
  return Diagnose(*api, gathered.incident, diagnose, console);
}

ExitCode RunUp(const Arguments& arguments, Console& console) {
  LocalMesh::Options options;
  options.knowledge = arguments.knowledge;
  options.site = arguments.site;
  options.store = arguments.store.empty() ? DefaultStore() : arguments.store;
  options.roots = arguments.roots;
  options.evidence = EvidenceBeside(options.store);
  options.strategy = arguments.default_strategy;
  options.tests = *orchestrator::ParseTestPolicy(arguments.tests);
  options.history = arguments.history;
  auto sources = arguments.sources.Prometheus();
  if (!sources.ok()) {
    console.err << "galen: " << sources.status().message() << std::endl;
    return ExitCodeOf(sources.status());
  }
  options.prometheus = *std::move(sources);
  auto named_logs = arguments.sources.NamedLogs(arguments.knowledge);
  if (!named_logs.ok()) {
    console.err << "galen: " << named_logs.status().message() << std::endl;
    return ExitCodeOf(named_logs.status());
  }
  options.named_logs = *std::move(named_logs);
  if (arguments.store.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(options.store).parent_path(),
                                        ignored);
  }
  absl::StatusOr<std::unique_ptr<reasoner::llm::OpenedModel>> model =
      reasoner::llm::OpenedModel::Open(arguments.llm, arguments.llm_cache, arguments.knowledge);
  if (!model.ok()) {
    console.err << "galen: " << model.status().message() << std::endl;
    return ExitCodeOf(model.status());
  }
  options.model = reasoner::llm::PlannersModelOf(model->get());
  const absl::StatusOr<log::Format> format = log::ParseFormat(arguments.log_format, STDERR_FILENO);
  if (!format.ok()) {
    console.err << "galen: --log-format: " << format.status().message() << std::endl;
    return kBadInput;
  }
  rpc::SecurityOptions security = arguments.security;
  security.role = security::Role::kOrchestrator;
  metrics::Registry numbers;
  reasoner::llm::Register(model->get(), numbers);
  return ServeMesh(options,
                   {.address = arguments.listen,
                    .security = std::move(security),
                    .drain_grace = absl::Seconds(arguments.drain_grace),
                    .metrics = arguments.metrics,
                    .log_format = *format},
                   numbers);
}

// `galen checks run --server`: on the nodes of a mesh.
absl::StatusOr<std::vector<v1::CheckResult>> RunRemoteChecks(
    const Arguments& arguments, const std::vector<std::string>& checks,
    const std::vector<v1::CheckParameters>& parameters) {
  // Longer than any node is given for one call.
  constexpr absl::Duration kTimeLimit = absl::Minutes(30);
  execution::v1::RunChecksRequest request;
  for (const std::string& check : checks) request.add_checks(check);
  for (const std::string& node : arguments.nodes) request.add_nodes(node);
  for (const v1::CheckParameters& check : parameters) *request.add_parameters() = check;
  request.set_bundle(arguments.bundle);
  request.set_allow_intrusive(arguments.allow_intrusive);
  request.set_allow_busy(arguments.allow_busy);
  return RunChecksAt(arguments.server, arguments.security, request, kTimeLimit);
}

enum class ChecksCommand { kList, kDoc, kShow, kRun };

// `galen checks list`, `galen checks doc` and `galen checks run`.
ExitCode RunChecks(const Arguments& arguments, ChecksCommand command, Console& console) {
  const auto knowledge = LoadKnowledge(arguments.knowledge);
  if (!knowledge.ok()) {
    console.err << "galen: " << knowledge.status().message() << std::endl;
    return ExitCodeOf(knowledge.status());
  }
  const LocalNode local(*knowledge, {});
  const node::v1::DescribeResponse description = local.executor.Describe();
  const std::vector<std::string> available(description.checks().begin(),
                                           description.checks().end());
  if (command == ChecksCommand::kList) {
    return ListChecks(**knowledge, available, arguments.json, console);
  }
  if (command == ChecksCommand::kShow) {
    return ShowCheck(**knowledge, arguments.check, arguments.json, console);
  }
  if (command == ChecksCommand::kDoc) {
    console.out << ChecksDocument(**knowledge, {available.begin(), available.end()});
    return kOk;
  }
  node::v1::RunChecksRequest request;
  for (const std::string& check : arguments.checks) {
    if ((*knowledge)->FindCheck(check) == nullptr) {
      console.err << "galen: check \"" << check
                  << "\": not in the catalogue; run `galen checks list` to see the checks"
                  << std::endl;
      return kBadInput;
    }
    request.add_checks(check);
  }
  if (arguments.checks.empty()) {
    for (const std::string& check : available) request.add_checks(check);
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.id() < b.id(); };
  const auto parameters = ParseSettings(arguments.settings);
  if (!parameters.ok()) {
    console.err << "galen: " << parameters.status().message() << std::endl;
    return kBadInput;
  }
  if (!arguments.server.empty()) {
    auto results =
        RunRemoteChecks(arguments, {request.checks().begin(), request.checks().end()}, *parameters);
    if (!results.ok()) {
      console.err << "galen: " << results.status().message() << std::endl;
      return ExitCodeOf(results.status());
    }
    std::sort(results->begin(), results->end(), by_id);
    return TellResults(*results, arguments.json, console);
  }
  for (const v1::CheckParameters& check : *parameters) *request.add_parameters() = check;
  request.set_allow_intrusive(arguments.allow_intrusive);
  request.set_allow_busy(arguments.allow_busy);
  request.set_progress(console.terminal.interactive && isatty(STDERR_FILENO) == 1);
  std::vector<std::string> nodes = {local.hosts.name()};
  std::shared_ptr<const host::Bundle> bundle;
  if (!arguments.bundle.empty()) {
    auto opened = host::Bundle::Open(arguments.bundle);
    if (!opened.ok()) {
      console.err << "galen: " << opened.status().message() << std::endl;
      return ExitCodeOf(opened.status());
    }
    bundle = *std::move(opened);
    nodes = arguments.nodes.empty() ? bundle->nodes() : arguments.nodes;
    request.set_bundle(bundle->root());
  }
  std::vector<v1::CheckResult> results;
  for (const std::string& node : nodes) {
    request.set_node(node);
    CheckProgress progress(console, request.progress());
    const absl::Status status =
        local.executor.RunChecks(request, absl::InfiniteFuture(), [&](v1::CheckResult result) {
          progress.Take(result);
          if (result.status() != v1::CheckResult::RUNNING) results.push_back(std::move(result));
        });
    progress.Clear();
    if (!status.ok()) {
      console.err << "galen: " << status.message() << std::endl;
      return ExitCodeOf(status);
    }
  }
  std::sort(results.begin(), results.end(), by_id);
  return TellResults(results, arguments.json, console);
}

// A repeatable option takes one value each time, so that it does not swallow the names of checks or
// the description that follow it.
void TakeOneValueEach(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (!option->get_positional() && option->get_expected_max() > 1) {
      option->allow_extra_args(false);
    }
  }
  for (CLI::App* const each : command.get_subcommands({})) TakeOneValueEach(*each);
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Galen finds the root cause when a training or inference job fails or slows down."};
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, a cause confirmed; 3 no cause confirmed; 2 bad input; 4 the service\n"
      "could not be reached; 5 the advisor warns of an error; 1 Galen itself failed.");
  app.set_version_flag("--version", absl::StrCat("galen ", Version()));
  const auto with_knowledge = [&](CLI::App* command) {
    command
        ->add_option("--knowledge", arguments.knowledge,
                     "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                     "earlier ones")
        ->delimiter(',')
        ->type_name("DIR");
  };

  CLI::App* diagnose = app.add_subcommand("diagnose", "Find the cause of an incident");
  diagnose->add_option("description", arguments.diagnose.words,
                       "Sentences, pasted text, files, folders, or - for standard input");
  diagnose->add_option("--log", arguments.diagnose.logs, "A file to read, or -; repeatable")
      ->type_name("FILE");
  DeclareLogsFrom(*diagnose, arguments.sources);
  DeclareLogSources(*diagnose, arguments.sources);
  diagnose->add_option("--node", arguments.diagnose.nodes, "A suspected node; repeatable")
      ->type_name("HOST");
  diagnose
      ->add_option("--bundle", arguments.diagnose.bundle, "Support bundle: directory or archive")
      ->type_name("PATH");
  diagnose
      ->add_option("--server", arguments.diagnose.server,
                   "Use the mesh at this address instead of one in this process")
      ->type_name("HOST:PORT");
  diagnose->add_option("--start", arguments.diagnose.start, "Start of the trouble")
      ->type_name("TIME");
  diagnose->add_option("--end", arguments.diagnose.end, "End of the trouble, or when it was seen")
      ->type_name("TIME");
  diagnose->add_option("--baseline", arguments.diagnose.baseline, "A normal time to compare with")
      ->type_name("TIME,TIME");
  diagnose
      ->add_option("--svg", arguments.diagnose.svg,
                   "Draw throughput and the series that explain it into this file")
      ->type_name("FILE");
  diagnose->add_flag("--here", arguments.diagnose.here,
                     "The incident happened on this machine: examine it too");
  diagnose->add_flag("--verbose", arguments.diagnose.verbose,
                     "Report everything that was ruled out or left undecided");
  diagnose->add_flag("--json", arguments.diagnose.json, "Print only the Diagnosis as JSON");
  diagnose
      ->add_option("--show-reasoning", arguments.show_reasoning,
                   "Print the reasoning after the report (text), or a drawing of it instead of the "
                   "report (dot, mermaid)")
      ->type_name("FORM")
      ->expected(0, 1)
      ->default_str("text");
  diagnose
      ->add_option("--store", arguments.store,
                   "Keep the diagnosis in this file or Redis (docs/store.md)")
      ->type_name("FILE|URL");
  diagnose->add_option("--request-id", arguments.diagnose.request_id,
                       "Idempotency key: the same one gives the same diagnosis");
  diagnose
      ->add_option(
          "--strategy", arguments.diagnose.strategy,
          absl::StrCat("How to search: ", absl::StrJoin(orchestrator::StrategyNames(), ", "),
                       "; none: ", orchestrator::kDefaultStrategy))
      ->type_name("NAME");
  with_knowledge(diagnose);

  CLI::App* up = app.add_subcommand("up", "Serve the whole mesh from this process");
  up->add_option("--listen", arguments.listen,
                 "Address to serve gRPC on: HOST:PORT, or unix:PATH for this user alone; none: a "
                 "Unix socket in the runtime folder of this user")
      ->type_name("ADDRESS");
  up->add_option("--metrics", arguments.metrics,
                 "Serve Prometheus metrics on this PORT of the loopback interface, or ADDRESS:PORT")
      ->type_name("ADDRESS");
  up->add_option("--log-format", arguments.log_format,
                 "Format of events on standard error: text, json, or auto: text on a terminal, "
                 "JSON elsewhere")
      ->type_name("FORMAT")
      ->capture_default_str();
  up->add_option("--store", arguments.store, "File or Redis for the diagnoses (docs/store.md)")
      ->type_name("FILE|URL");
  up->add_option("--bundle-root", arguments.roots,
                 "Read bundles and logs only below this directory; repeatable")
      ->type_name("DIR");
  up->add_option("--tests", arguments.tests,
                 "Tests that load a device (docs/dialogue.md): approved: a person allows each; "
                 "idle: the site itself also allows those on idle GPUs; never: none runs")
      ->check(CLI::IsMember({"never", "approved", "idle"}))
      ->type_name("POLICY")
      ->capture_default_str();
  up->add_option("--strategy", arguments.default_strategy,
                 "Strategy of diagnoses that do not name one")
      ->type_name("NAME")
      ->capture_default_str();
  DeclareLogSources(*up, arguments.sources);
  up->add_option("--drain-grace", arguments.drain_grace, "Seconds to drain after SIGTERM")
      ->capture_default_str();
  with_knowledge(up);

  for (CLI::App* command : {diagnose, up}) {
    command
        ->add_option(
            "--llm", arguments.llm,
            "Endpoint file of a language model (docs/llm.md); none: nothing is sent anywhere")
        ->envname("GALEN_LLM")
        ->type_name("FILE");
    CLI::Option* history = command
                               ->add_option("--history", arguments.history,
                                            "The site's own past incidents (`galen kb history`), "
                                            "in addition to those of the knowledge")
                               ->type_name("DIR");
    CLI::Option* prometheus = DeclarePrometheus(*command, arguments.sources);
    if (command == diagnose) {  // which has its own
      history->excludes("--server");
      prometheus->excludes("--server");
    }
    command
        ->add_option("--llm-cache", arguments.llm_cache,
                     "Keep the model's answers in this file or Redis")
        ->type_name("FILE|URL");
  }

  up->add_option(
        "--site", arguments.site,
        "The site's knowledge directory: a confirmed cause is proposed there as a past incident")
      ->type_name("DIR");

  CLI::App* checks = app.add_subcommand("checks", "List, show and run checks");
  checks->require_subcommand(1);
  CLI::App* list = checks->add_subcommand("list", "List all checks");
  list->add_flag("--json", arguments.json, "Print one JSON object per line");
  with_knowledge(list);
  CLI::App* show = checks->add_subcommand("show", "Show one check in full");
  show->add_option("check", arguments.check, "Its name")->required();
  show->add_flag("--json", arguments.json, "Print a JSON object");
  with_knowledge(show);
  CLI::App* doc = checks->add_subcommand("doc", "Print the full catalogue as Markdown");
  with_knowledge(doc);
  CLI::App* run = checks->add_subcommand("run", "Run checks on this machine or on a bundle");
  run->add_option("checks", arguments.checks, "Names of checks; none: all");
  run->add_option("--bundle", arguments.bundle, "Run on the nodes of this bundle")
      ->type_name("PATH");
  run->add_option("--node", arguments.nodes, "Only this node of the bundle or mesh; repeatable")
      ->type_name("HOST");
  run->add_option("--server", arguments.server,
                  "Run on the nodes of a mesh: the address of its galen-execution")
      ->type_name("HOST:PORT");
  run->add_flag("--allow-intrusive", arguments.allow_intrusive,
                "Also run checks that load a device or the network");
  run->add_flag("--allow-busy", arguments.allow_busy,
                "Load a device even if another process uses it");
  run->add_option("--set", arguments.settings, "A parameter of a check; repeatable")
      ->type_name("CHECK.NAME=VALUE");
  run->add_flag("--json", arguments.json, "Print one JSON object per line");
  with_knowledge(run);

  CLI::App* watch =
      app.add_subcommand("watch", "Print what nodes notice by themselves, as it happens");
  watch
      ->add_option(
          "--server", arguments.server,
          "Watch the nodes of a mesh: the address of its galen-execution; none: this machine")
      ->type_name("HOST:PORT");
  watch->add_option("--node", arguments.nodes, "Only this node of the mesh; repeatable")
      ->type_name("HOST");
  watch->add_flag("--json", arguments.json, "Print one JSON object per line");
  with_knowledge(watch);

  CLI::App* bundle = app.add_subcommand("bundle", "Make a support bundle");
  bundle->require_subcommand(1);
  CLI::App* capture = bundle->add_subcommand("capture", "Make a bundle of this machine");
  capture->add_option("directory", arguments.capture.directory, "A new directory")->required();
  capture->add_option("--description", arguments.capture.description,
                      "Description of the incident");
  std::vector<std::string> more_logs;
  capture->add_option("logs", more_logs, "Further logs to include")->type_name("FILE");
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
  with_knowledge(capture);
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

  for (CLI::App* command : {diagnose, up, run, watch}) {
    DeclareCertificates(*command, arguments.security);
  }
  up->add_option("--audit-log", arguments.security.audit_log,
                 "Append a JSON line for each call: who did what, and what was refused")
      ->type_name("FILE");
  const ToolCommands tools(app);
  TakeOneValueEach(app);
  // It was a command of this program once, and scripts may still call it.
  CLI::App* eval = app.add_subcommand("eval", "")->group("")->allow_extras();
  eval->set_help_flag();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has codes of its own; ours say whether the caller can fix it.
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  if (*eval) {
    std::cerr << "galen: eval: the program galen-eval does this, with the same options "
                 "(docs/eval.md)"
              << std::endl;
    return kBadInput;
  }
  if (*up || *watch) rpc::BlockTerminationSignals();
  if (*up) rpc::BlockHangup();
  Console console{std::cin, std::cout, std::cerr, Terminal::Of(STDOUT_FILENO),
                  isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1};
  if (const std::optional<ExitCode> code = tools.Run(console)) return *code;
  if (*diagnose) return RunDiagnose(arguments, console);
  if (*up) return RunUp(arguments, console);
  if (*watch) {
    return WatchNodes({arguments.knowledge, arguments.server, arguments.nodes, arguments.json,
                       arguments.security},
                      console);
  }
  if (*list) return RunChecks(arguments, ChecksCommand::kList, console);
  if (*doc) return RunChecks(arguments, ChecksCommand::kDoc, console);
  if (*show) return RunChecks(arguments, ChecksCommand::kShow, console);
  if (*run) return RunChecks(arguments, ChecksCommand::kRun, console);
  if (*capture) {
    arguments.capture.knowledge = arguments.knowledge;
    arguments.capture.logs.insert(arguments.capture.logs.end(), more_logs.begin(), more_logs.end());
    return CaptureBundle(arguments.capture, console);
  }
  if (*create) return NewBundle(arguments.create, console);
  return AddToBundle(arguments.add, console);
}

}  // namespace
}  // namespace galen::cli

int main(int argc, char** argv) {
  galen::ForgetLockOrders();
  return galen::cli::Main(argc, argv);
}
