#include "services/cli/up.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file_limit.h"
#include "common/base/status_macros.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/observability/metrics/server.h"
#include "common/rpc/serve.h"
#include "common/store/store.h"
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

ExitCode ServeMesh(const LocalMesh::Options& mesh, const UpOptions& options,
                   metrics::Registry& numbers) {
  log::Configure("galen", options.log_format);
  RaiseFileLimit();
  if (geteuid() == 0) {
    log::Warning(absl::StrCat(
        "this runs as root: whoever reaches ", options.address,
        " has files of root read and quoted; start it as another user where others use the "
        "machine (docs/security.md)"));
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
