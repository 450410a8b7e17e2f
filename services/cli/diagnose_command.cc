#include "services/cli/diagnose_command.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/host/bundle.h"
#include "common/intake/kinds.h"
#include "common/observability/trace/trace.h"
#include "common/reasoner/llm/open_model.h"
#include "services/cli/answer.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"
#include "services/cli/mesh_telemetry.h"
#include "services/orchestrator/strategy.h"

namespace galen::cli {
namespace {

// Declares what the incident is described by.
void DeclareIncident(CLI::App& command, DiagnoseCommandArguments& arguments) {
  DiagnoseArguments& diagnose = arguments.diagnose;
  command.add_option("description", diagnose.words,
                     "Sentences, pasted text, files, folders, or - for standard input");
  command.add_option("--log", diagnose.logs, "A file to read, or -; repeatable")->type_name("FILE");
  DeclareLogsFrom(command, arguments.mesh.sources);
  DeclareLogSources(command, arguments.mesh.sources);
  command.add_option("--node", diagnose.nodes, "A suspected node; repeatable")->type_name("HOST");
  command.add_option("--bundle", diagnose.bundle, "Support bundle: directory or archive")
      ->type_name("PATH");
  command
      .add_option("--server", diagnose.server,
                  "Use the mesh at this address instead of one in this process")
      ->type_name("HOST:PORT");
  command.add_option("--start", diagnose.start, "Start of the trouble")->type_name("TIME");
  command.add_option("--end", diagnose.end, "End of the trouble, or when it was seen")
      ->type_name("TIME");
  command.add_option("--baseline", diagnose.baseline, "A normal time to compare with")
      ->type_name("TIME,TIME");
}

}  // namespace

CLI::App* DeclareDiagnose(CLI::App& app, DiagnoseCommandArguments& arguments) {
  CLI::App* command = app.add_subcommand("diagnose", "Find the cause of an incident");
  DiagnoseArguments& diagnose = arguments.diagnose;
  DeclareIncident(*command, arguments);
  command
      ->add_option("--svg", diagnose.svg,
                   "Draw throughput and the series that explain it into this file")
      ->type_name("FILE");
  command->add_flag("--here", diagnose.here,
                    "The incident happened on this machine: examine it too");
  command->add_flag("--verbose", diagnose.verbose,
                    "Report everything that was ruled out or left undecided");
  command->add_flag("--json", diagnose.json, "Print only the Diagnosis as JSON");
  command
      ->add_option("--show-reasoning", arguments.show_reasoning,
                   "Print the reasoning after the report (text), or a drawing of it instead of the "
                   "report (dot, mermaid)")
      ->type_name("FORM")
      ->expected(0, 1)
      ->default_str("text");
  command
      ->add_option("--store", arguments.mesh.store,
                   "Keep the diagnosis in this file or Redis (docs/store.md)")
      ->type_name("FILE|URL");
  command->add_option("--request-id", diagnose.request_id,
                      "Idempotency key: the same one gives the same diagnosis");
  command
      ->add_option(
          "--strategy", diagnose.strategy,
          absl::StrCat("How to search: ", absl::StrJoin(orchestrator::StrategyNames(), ", "),
                       "; none: ", orchestrator::kDefaultStrategy))
      ->type_name("NAME");
  DeclareMesh(*command, arguments.mesh);
  // A server has its own.
  command->get_option("--history")->excludes("--server");
  command->get_option("--prometheus")->excludes("--server");
  return command;
}

ExitCode RunDiagnose(const DiagnoseCommandArguments& arguments, Console& console) {
  const MeshArguments& mesh_arguments = arguments.mesh;
  DiagnoseArguments diagnose = arguments.diagnose;
  // Keeps an archive unpacked while it is diagnosed.
  std::shared_ptr<const host::Bundle> bundle;
  if (!diagnose.bundle.empty()) {
    auto opened = host::Bundle::Open(diagnose.bundle);
    if (!opened.ok()) return ExitWith(opened.status(), console);
    bundle = *std::move(opened);
    for (const std::string& remark : bundle->remarks()) console.err << "note: " << remark << '\n';
  }
  absl::StatusOr<std::vector<intake::Text>> texts = GatherTexts(diagnose, console.in);
  if (!texts.ok()) return ExitWith(texts.status(), console);
  if (const absl::Status added =
          AddLogsFrom(mesh_arguments.sources, diagnose, mesh_arguments.knowledge, bundle.get(),
                      *texts, console.err);
      !added.ok()) {
    return ExitWith(added, console);
  }
  if (!arguments.show_reasoning.empty()) {
    const absl::StatusOr<ReasoningForm> form = ParseReasoningForm(arguments.show_reasoning);
    if (!form.ok()) return ExitWith(form.status(), console);
    diagnose.show_reasoning = *form;
  }
  absl::StatusOr<std::unique_ptr<reasoner::llm::OpenedModel>> model =
      reasoner::llm::OpenedModel::Open(mesh_arguments.llm, mesh_arguments.llm_cache,
                                       mesh_arguments.knowledge);
  if (!model.ok()) return ExitWith(model.status(), console);
  std::unique_ptr<DiagnosisApi> api;
  Gathered gathered;
  if (!diagnose.server.empty()) {
    absl::StatusOr<v1::Incident> incident = IncidentForServer(diagnose, *texts, bundle.get());
    if (!incident.ok()) return ExitWith(incident.status(), console);
    gathered.incident = *std::move(incident);
    auto remote = ConnectTo(diagnose.server, arguments.security);
    if (!remote.ok()) return ExitWith(remote.status(), console);
    api = *std::move(remote);
  } else {
    LocalMesh::Options options;
    options.knowledge = mesh_arguments.knowledge;
    if (const absl::Status loaded = options.Load(); !loaded.ok()) return ExitWith(loaded, console);
    const auto kinds = intake::Kinds::Compile(options.loaded->base());
    if (!kinds.ok()) return ExitWith(kinds.status(), console);
    if (!mesh_arguments.store.empty()) {
      diagnose.keep_in = EvidenceBeside(mesh_arguments.store);
      options.evidence = diagnose.keep_in;
    }
    auto sources = mesh_arguments.sources.Prometheus();
    if (!sources.ok()) return ExitWith(sources.status(), console);
    options.prometheus = *std::move(sources);
    absl::StatusOr<Gathered> made =
        GatherWithNumbers(diagnose, *texts, bundle.get(), **kinds, &options);
    if (!made.ok()) return ExitWith(made.status(), console);
    gathered = *std::move(made);
    options.job_logs = gathered.job_logs;
    if (!mesh_arguments.store.empty()) options.store = mesh_arguments.store;
    options.owner = OwnerIn(options.store, options.owner, absl::StrCat(getpid()));
    options.model = reasoner::llm::PlannersModelOf(model->get());
    options.history = mesh_arguments.history;
    absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = LocalMesh::Start(options);
    if (!mesh.ok()) return ExitWith(mesh.status(), console);
    api = *std::move(mesh);
  }
  // A caller within a trace of its own passes it as OpenTelemetry's command line tools do.
  const char* parent = std::getenv("TRACEPARENT");
  const trace::Scope scope(
      {trace::Parse(parent == nullptr ? "" : parent).value_or(trace::Context()), ""});
  diagnose.stored = !mesh_arguments.store.empty() || !diagnose.server.empty();
  return Diagnose(*api, gathered.incident, diagnose, console);
}

}  // namespace galen::cli
