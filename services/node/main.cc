// galen-node: serves NodeService.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/status_macros.h"
#include "common/clients/grpc_clients.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/remediation/run_action.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/serve.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "services/node/announcer.h"
#include "services/node/executor.h"
#include "services/node/host_source.h"
#include "services/node/node_service.h"
#include "services/node/registry.h"
#include "services/node/repair/repairer.h"
#include "services/node/watch/event_hub.h"
#include "services/node/watch/footprint.h"
#include "services/node/watch/watcher.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50054", "Address to serve gRPC on.");
ABSL_FLAG(std::string, host, "", "Name of this machine; empty: its own.");
ABSL_FLAG(std::vector<std::string>, execution, {},
          "Addresses of replicas of galen-execution, separated by commas; the node registers with "
          "the first that answers. None: galen-execution needs this node in --nodes.");
ABSL_FLAG(std::string, advertise, "",
          "HOST:PORT at which execution reaches this node; empty: that of --listen.");
ABSL_FLAG(absl::Duration, register_ttl, absl::Seconds(30),
          "Validity of a registration; it is renewed three times within this time.");
ABSL_FLAG(
    std::vector<std::string>, bundle_root, {},
    "Directories below which bundles may be read, separated by commas; none: no bundle is served.");
ABSL_FLAG(std::string, job_pid_file, "",
          "File with the PID of a process of the job on this machine, as a prolog writes it; "
          "empty: checks do not see a job.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones.");
ABSL_FLAG(int, max_parallel, 4, "Checks of one call that run at the same time.");
ABSL_FLAG(absl::Duration, check_timeout, absl::Seconds(30), "Time limit of one check.");
ABSL_FLAG(int, threads, 4, "Calls worked on at the same time.");
ABSL_FLAG(
    std::vector<std::string>, repairs, {},
    "Actions of the knowledge's actions/*.yaml, NAME,..., that may be carried out on this machine "
    "after a person's approval (docs/repair.md); needs certificates. None: no action.");
ABSL_FLAG(std::string, repair_state, "/var/lib/galen/repairs",
          "Directory with the record of used approvals.");
ABSL_FLAG(bool, watch, true,
          "Sample the counters of knowledge/watch.txt every second and follow the kernel log.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::node {
namespace {

// The parts of the knowledge that checks read.
std::shared_ptr<const knowledge::Knowledge> ForChecks(const knowledge::Knowledge& knowledge) {
  knowledge::v1::KnowledgeBase base;
  *base.mutable_checks() = knowledge.base().checks();
  *base.mutable_hardware() = knowledge.base().hardware();
  *base.mutable_kernel_lines() = knowledge.base().kernel_lines();
  base.set_digest(knowledge.digest());
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

struct Repairs {
  std::unique_ptr<UsedWarrants> used_warrants;
  std::unique_ptr<Repairer> repairer;  // null: none
};

absl::StatusOr<Repairs> OpenRepairs(const rpc::Security& security,
                                    const std::vector<std::string>& knowledge,
                                    const LocalHosts& hosts, const Clock& clock) {
  Repairs repairs;
  const std::vector<std::string> allowed = absl::GetFlag(FLAGS_repairs);
  if (allowed.empty()) return repairs;
  if (security.warrant_verifier() == nullptr) {
    return absl::InvalidArgumentError(
        "--repairs: needs certificates (--certs): without them no approval can be verified");
  }
  GALEN_ASSIGN_OR_RETURN(std::vector<remediation::RunAction> known,
                         remediation::LoadRunActions(knowledge));
  GALEN_ASSIGN_OR_RETURN(repairs.used_warrants,
                         UsedWarrants::Open(absl::GetFlag(FLAGS_repair_state)));
  const auto run = [&hosts](
                       const remediation::Argv& argv,
                       const host::ProcessLimits& limits) -> absl::StatusOr<host::CommandResult> {
    GALEN_ASSIGN_OR_RETURN(const auto host, hosts.Open("", "", nullptr));
    return host->RunWithin(argv, limits, Cancellation::Never(), nullptr);
  };
  GALEN_ASSIGN_OR_RETURN(repairs.repairer,
                         Repairer::Make({.node = hosts.name(),
                                         .allowed = allowed,
                                         .tell = [](const std::string& news) { log::Info(news); }},
                                        std::move(known), *security.warrant_verifier(),
                                        *repairs.used_warrants, run, clock));
  return repairs;
}

absl::Status Serve() {
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kNode));
  if (!security.ok()) return security.status();
  if (absl::GetFlag(FLAGS_max_parallel) < 1 || absl::GetFlag(FLAGS_threads) < 1) {
    return absl::InvalidArgumentError("--max_parallel and --threads: must be 1 or more");
  }
  if (absl::GetFlag(FLAGS_check_timeout) <= absl::ZeroDuration() ||
      absl::GetFlag(FLAGS_check_timeout) > absl::Hours(1)) {
    return absl::InvalidArgumentError("--check_timeout: must lie above 0 and at most at 1h");
  }
  const auto directories = knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  auto knowledge =
      knowledge::Load(*directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
  if (!knowledge.ok()) return knowledge.status();
  *knowledge = ForChecks(**knowledge);

  // A caller over the network may read only bundles below the roots.
  std::vector<std::string> roots = absl::GetFlag(FLAGS_bundle_root);
  const LocalHosts hosts({.name = absl::GetFlag(FLAGS_host),
                          .bundle_roots = std::move(roots),
                          .bundles_anywhere = false,
                          .job_pid_file = absl::GetFlag(FLAGS_job_pid_file)});
  NodeExecutor::Options options;
  options.max_parallel = absl::GetFlag(FLAGS_max_parallel);
  options.check_timeout = absl::GetFlag(FLAGS_check_timeout);
  NodeExecutor node(hosts, *knowledge, AllChecks(), options);
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/256);
  const SystemClock clock;
  EventHub hub(clock);
  // Ends the programs that the watch has begun.
  const auto watch_ends = std::make_shared<Cancellation>();
  std::unique_ptr<Watcher> watcher;
  if (absl::GetFlag(FLAGS_watch)) {
    const auto host = hosts.Open("", "", watch_ends);
    if (!host.ok()) return host.status();
    absl::StatusOr<std::unique_ptr<Watcher>> started =
        Watcher::Start(*directories, **knowledge, *host, hub);
    if (!started.ok()) return started.status();
    watcher = *std::move(started);
  }
  GALEN_ASSIGN_OR_RETURN(const Repairs repairs,
                         OpenRepairs(**security, *directories, hosts, clock));
  NodeServiceImpl service(node, executor, watcher == nullptr ? nullptr : &hub,
                          repairs.repairer.get());
  knowledge::Reloader reloader(
      {.directories = *directories,
       .cache_directory = knowledge::DefaultCacheDirectory(),
       .apply =
           [&node](const std::shared_ptr<const knowledge::Knowledge>& loaded) {
             node.Use(ForChecks(*loaded));
             return absl::OkStatus();
           },
       .tell = [](const std::string& news) { log::Info(news); }},
      **knowledge);
  reloader.Start();
  std::vector<std::unique_ptr<clients::RegistrationClient>> replicas;
  std::vector<clients::RegistrationClient*> to_tell;
  for (const std::string& address : absl::GetFlag(FLAGS_execution)) {
    GALEN_ASSIGN_OR_RETURN(auto channel,
                           rpc::Connect(address, **security, {security::Role::kExecution}));
    replicas.push_back(clients::MakeGrpcRegistrationClient(std::move(channel)));
    to_tell.push_back(replicas.back().get());
  }
  Announcer announcer(std::move(to_tell),
                      {.node = hosts.name(),
                       .ttl = absl::GetFlag(FLAGS_register_ttl),
                       .tell = [](const std::string& news) { log::Info(news); }});
  metrics::Registry registry;
  registry.Add(metrics::QueueNumbers("calls", executor));
  registry.Add(node.metrics());
  const auto metrics_server = service::ServeMetrics(registry);
  if (!metrics_server.ok()) return metrics_server.status();
  return rpc::ServeUntilSignal(
      {.address = absl::GetFlag(FLAGS_listen),
       .security = security->get(),
       .health_address = rpc::HealthAddressFromFlag(),
       .drain_grace = absl::GetFlag(FLAGS_drain_grace),
       .on_listening =
           [&announcer, &replicas](int port) {
             ReleaseUnusedMemory();
             if (replicas.empty()) return;
             const std::string address = absl::GetFlag(FLAGS_advertise);
             announcer.Start(address.empty() ? rpc::AddressOf(absl::GetFlag(FLAGS_listen), port)
                                             : address);
           },
       .on_drain =
           [&hub, &announcer, watch_ends] {
             announcer.Stop();
             watch_ends->Cancel();
             hub.Close();
           },
       .on_hangup = [&reloader] { reloader.Reload(); }},
      {&service});
}

}  // namespace
}  // namespace galen::node

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.node.v1.NodeService");
  absl::ParseCommandLine(argc, argv);
  galen::node::KeepMemorySmall();
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-node", &galen::node::Serve);
}
