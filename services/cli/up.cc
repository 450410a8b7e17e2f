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
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/observability/metrics/server.h"
#include "common/rpc/serve.h"
#include "common/store/store.h"
#include "services/cli/gather.h"
#include "services/orchestrator/orchestrator_service.h"

namespace galen::cli {
namespace {

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

}  // namespace

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

}  // namespace galen::cli
