#include "services/cli/up.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "common/observability/log/line.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/observability/metrics/registry.h"
#include "common/observability/metrics/server.h"
#include "common/reasoner/llm/open_model.h"
#include "common/rpc/serve.h"
#include "common/store/store.h"
#include "services/cli/answer.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/orchestrator_service.h"

namespace galen::cli {
namespace {

// Beside what the mesh is made of.
struct UpOptions {
  std::string address;            // "": DefaultSocket()
  rpc::SecurityOptions security;  // of role orchestrator
  absl::Duration drain_grace;
  std::string metrics;  // where metrics are served; "" nowhere
  log::Format log_format = log::Format::kText;
};

absl::Status Serve(const LocalMesh::Options& mesh_options, const UpOptions& options,
                   metrics::Registry& numbers) {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Security> security,
                         rpc::Security::Open(options.security));
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMesh> mesh, LocalMesh::Start(mesh_options));
  orchestrator::Orchestrator& orchestrator = mesh->orchestrator();
  orchestrator::OrchestratorServiceImpl service(orchestrator, mesh->executor(), security->guard());
  mesh->AddMetrics(numbers);
  metrics::AddProgram(numbers);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<metrics::Server> metrics_server,
                         metrics::Serve(options.metrics, numbers));
  rpc::ServeOptions serve;
  serve.address = options.address;
  serve.security = security.get();
  serve.drain_grace = options.drain_grace;
  serve.on_listening = [&](int) {
    log::Info(absl::StrCat("diagnoses are stored in ", store::DescribeStore(mesh_options.store),
                           "; stop with Ctrl-C"));
  };
  serve.on_hangup = [&mesh] { mesh->Reload(); };
  serve.on_drain = [&orchestrator] { orchestrator.EndWatches(); };
  return rpc::ServeUntilSignal(serve, {&service});
}

// `numbers` holds the metrics of the caller's parts; those of the mesh are added.
ExitCode ServeMesh(const LocalMesh::Options& mesh, const UpOptions& given,
                   metrics::Registry& numbers) {
  log::Configure("galen", given.log_format);
  UpOptions options = given;
  if (options.address.empty()) {
    options.address = DefaultSocket();
    const std::filesystem::path socket(std::string(absl::StripPrefix(options.address, "unix:")));
    std::error_code ignored;
    std::filesystem::create_directories(socket.parent_path(), ignored);
  }
  RaiseFileLimit();
  if (geteuid() == 0) {
    log::Warning(absl::StrCat(
        "this runs as root: whoever reaches ", options.address,
        " has files of root read and quoted; start it as another user where others use the "
        "machine (docs/security.md)"));
  }
  const bool has_certificates =
      !options.security.directory.empty() || !options.security.files.certificate.empty();
  if (!has_certificates && !absl::StartsWith(options.address, "unix:")) {
    log::Warning(absl::StrCat(
        "every user of this machine may call ", options.address,
        "; without --listen, a Unix socket is served for this user alone (docs/security.md)"));
  }
  LocalMesh::Options with_reload = mesh;
  with_reload.reload = true;
  with_reload.log = true;
  with_reload.owner = OwnerIn(mesh.store, mesh.owner, options.address);
  with_reload.tell = [](const std::string& news) { log::Info(news); };
  const absl::Status status = Serve(with_reload, options, numbers);
  if (!status.ok()) log::Error(status.message());
  return ExitCodeOf(status);
}

}  // namespace

CLI::App* DeclareUp(CLI::App& app, UpArguments& arguments) {
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
  up->add_option("--store", arguments.mesh.store, "File or Redis for the diagnoses (docs/store.md)")
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
  up->add_option("--strategy", arguments.strategy, "Strategy of diagnoses that do not name one")
      ->type_name("NAME")
      ->capture_default_str();
  DeclareLogSources(*up, arguments.mesh.sources);
  up->add_option("--drain-grace", arguments.drain_grace, "Seconds to drain after SIGTERM")
      ->capture_default_str();
  DeclareMesh(*up, arguments.mesh);
  up->add_option(
        "--site", arguments.site,
        "The site's knowledge directory: a confirmed cause is proposed there as a past incident")
      ->type_name("DIR");
  return up;
}

ExitCode RunUp(const UpArguments& arguments, Console& console) {
  const MeshArguments& mesh = arguments.mesh;
  LocalMesh::Options options;
  options.knowledge = mesh.knowledge;
  options.site = arguments.site;
  options.store = mesh.store.empty() ? DefaultStore() : mesh.store;
  options.roots = arguments.roots;
  options.evidence = EvidenceBeside(options.store);
  options.strategy = arguments.strategy;
  options.tests = *orchestrator::ParseTestPolicy(arguments.tests);
  options.history = mesh.history;
  auto sources = mesh.sources.Prometheus();
  if (!sources.ok()) return ExitWith(sources.status(), console);
  options.prometheus = *std::move(sources);
  auto named_logs = mesh.sources.NamedLogs(mesh.knowledge);
  if (!named_logs.ok()) return ExitWith(named_logs.status(), console);
  options.named_logs = *std::move(named_logs);
  if (mesh.store.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(options.store).parent_path(),
                                        ignored);
  }
  absl::StatusOr<std::unique_ptr<reasoner::llm::OpenedModel>> model =
      reasoner::llm::OpenedModel::Open(mesh.llm, mesh.llm_cache, mesh.knowledge);
  if (!model.ok()) return ExitWith(model.status(), console);
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

}  // namespace galen::cli
