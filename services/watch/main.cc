// galen-watch: serves WatchService, and receives the events of node executors.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/clients/grpc_clients.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/rpc/channel.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/serve.h"
#include "common/rpc/status.h"
#include "common/security/claims/claim.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "common/store/store.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "services/watch/early_warning_flags.h"
#include "services/watch/health_event_intake.h"
#include "services/watch/kubernetes.h"
#include "services/watch/node_follower.h"
#include "services/watch/watch_service.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50058", "Address to serve gRPC on.");
ABSL_FLAG(
    std::string, store, "",
    "SQLite file or Redis URL (docs/store.md) that keeps the health events. Required; several "
    "galen-watch share one.");
ABSL_FLAG(std::string, owner, "",
          "Unique name of this program among those that share the store; empty: host and process.");
ABSL_FLAG(std::string, orchestrator, "127.0.0.1:50050", "Address of galen-orchestrator.");
ABSL_FLAG(std::string, execution, "",
          "Address of galen-execution, for events that node executors notice; empty: only reported "
          "events.");
ABSL_FLAG(std::string, parent, "tenants/provider", "Tenant of the diagnoses that it opens.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::watch {
namespace {

constexpr absl::Duration kOpenTimeout = absl::Seconds(20);

std::string Owner() {
  std::string owner = absl::GetFlag(FLAGS_owner);
  if (!owner.empty()) return owner;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ":", getpid());
}

absl::Status Serve() {
  if (absl::GetFlag(FLAGS_store).empty()) {
    return absl::InvalidArgumentError("--store: name an SQLite file or a Redis URL");
  }
  const auto directories = knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  const auto knowledge =
      knowledge::Load(*directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
  if (!knowledge.ok()) return knowledge.status();
  const auto store = store::OpenStore(absl::GetFlag(FLAGS_store));
  if (!store.ok()) return store.status();
  for (const std::string& warning : (*store)->warnings()) {
    log::Warning(absl::StrCat((*store)->Describe(), ": ", warning));
  }
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kWatch));
  if (!security.ok()) return security.status();
  GALEN_ASSIGN_OR_RETURN(
      auto to_orchestrator,
      rpc::Connect(absl::GetFlag(FLAGS_orchestrator), **security, {security::Role::kOrchestrator}));
  const auto diagnoses = galen::v1::DiagnosisService::NewStub(to_orchestrator);
  const auto tell = [](const absl::Status& problem) {
    log::Warning(std::string(problem.message()));
  };
  const auto open =
      [&](const galen::v1::CreateDiagnosisRequest& request) -> absl::StatusOr<std::string> {
    grpc::ClientContext context;
    context.set_deadline(ClockIn(kOpenTimeout));
    const std::string claim =
        (*security)->ClaimFor(request.parent(), security::Role::kOrchestrator);
    if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
    galen::v1::Diagnosis diagnosis;
    GALEN_RETURN_IF_ERROR(
        rpc::FromGrpcStatus(diagnoses->CreateDiagnosis(&context, request, &diagnosis)));
    log::Info(absl::StrCat(diagnosis.name(), ": opened for ",
                           request.diagnosis().incident().description().substr(0, 256)));
    return diagnosis.name();
  };
  const SystemClock clock;
  HotSwap<knowledge::Knowledge> book(*knowledge);
  HealthEventIntake::Options options;
  options.owner = Owner();
  options.parent = absl::GetFlag(FLAGS_parent);
  options.on_problem = tell;
  HealthEventIntake intake(**store, book, clock, open, options);
  std::unique_ptr<clients::ExecutionClient> nodes;
  std::unique_ptr<NodeFollower> follower;
  if (const std::string execution = absl::GetFlag(FLAGS_execution); !execution.empty()) {
    GALEN_ASSIGN_OR_RETURN(auto to_execution, rpc::Replicas::Connect(execution, **security,
                                                                     {security::Role::kExecution}));
    nodes = clients::MakeGrpcExecutionClient(std::move(to_execution));
    follower = std::make_unique<NodeFollower>(*nodes, intake, tell);
  }
  GALEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<Kubernetes> kubernetes,
      Kubernetes::Open(**store, clock, *directories, absl::GetFlag(FLAGS_parent)));
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<early_warning::EarlyWarning> early,
                         OpenEarlyWarning(**store, clock, *directories, **knowledge, options.owner,
                                          absl::GetFlag(FLAGS_parent), open));
  WatchServiceImpl service(intake);
  knowledge::Reloader reloader(
      {.directories = *directories,
       .cache_directory = knowledge::DefaultCacheDirectory(),
       .apply =
           [&book](const std::shared_ptr<const knowledge::Knowledge>& loaded) {
             book.Set(loaded);
             return absl::OkStatus();
           },
       .tell = [](const std::string& news) { log::Info(news); }},
      **knowledge);
  reloader.Start();
  metrics::Registry registry;
  registry.Add(intake.metrics());
  if (early != nullptr) registry.Add(early->metrics());
  const auto metrics_server = service::ServeMetrics(registry);
  if (!metrics_server.ok()) return metrics_server.status();
  return rpc::ServeUntilSignal({.address = absl::GetFlag(FLAGS_listen),
                                .security = security->get(),
                                .health_address = rpc::HealthAddressFromFlag(),
                                .drain_grace = absl::GetFlag(FLAGS_drain_grace),
                                .on_hangup = [&reloader] { reloader.Reload(); }},
                               {&service});
}

}  // namespace
}  // namespace galen::watch

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.watch.v1.WatchService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-watch", &galen::watch::Serve);
}
