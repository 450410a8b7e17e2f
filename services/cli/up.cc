#include "services/cli/up.h"

#include "common/rpc/serve.h"
#include "common/store/store.h"
#include "services/orchestrator/orchestrator_service.h"

namespace galen::cli {

ExitCode ServeMesh(const LocalMesh::Options& options, const std::string& address,
                   const rpc::SecurityOptions& security_options, absl::Duration drain_grace,
                   Console& console) {
  const auto security = rpc::Security::Open(security_options);
  if (!security.ok()) {
    console.err << "galen: " << security.status().message() << std::endl;
    return ExitCodeOf(security.status());
  }
  LocalMesh::Options with_reload = options;
  with_reload.reload = true;
  with_reload.owner = OwnerIn(options.store, options.owner, address);
  with_reload.tell = [&console](const std::string& news) { console.err << news << std::endl; };
  absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = LocalMesh::Start(with_reload);
  absl::Status status = mesh.status();
  if (status.ok()) {
    orchestrator::Orchestrator& orchestrator = (*mesh)->orchestrator();
    orchestrator::OrchestratorServiceImpl service(orchestrator, (*mesh)->executor(),
                                                  (*security)->guard());
    rpc::ServeOptions serve;
    serve.address = address;
    serve.security = security->get();
    serve.drain_grace = drain_grace;
    serve.on_listening = [&](int) {
      console.err << "diagnoses are stored in " << store::DescribeStore(options.store)
                  << "; stop with Ctrl-C" << std::endl;
    };
    serve.on_hangup = [&mesh] { (*mesh)->Reload(); };
    serve.on_drain = [&orchestrator] { orchestrator.EndWatches(); };
    status = rpc::ServeUntilSignal(serve, {&service});
  }
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
