// galen-execution: serves ExecutionService.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/clients/grpc_clients.h"
#include "common/host/bundle.h"
#include "common/host/roots.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/node_history/node_failure_store.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"
#include "common/remediation/repair_circuit_breaker.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/serve.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "common/store/seal.h"
#include "common/store/store.h"
#include "services/execution/execution_service.h"
#include "services/execution/history_checks.h"
#include "services/execution/node_directory.h"
#include "services/execution/node_registry.h"
#include "services/execution/peers.h"
#include "services/execution/repairs/dry_runs.h"
#include "services/execution/repairs/mesh.h"
#include "services/execution/repairs/repair_loop.h"
#include "services/execution/telemetry_checks.h"
#include "services/execution/tenant_nodes.h"
#include "services/execution/watch_nodes.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50053", "Address to serve gRPC on.");
ABSL_FLAG(
    std::vector<std::string>, nodes, {},
    "Node executors of live nodes that need not register: host=address, separated by commas.");
ABSL_FLAG(std::string, store, ":memory:",
          "Registry of nodes and of replicas of execution: a Redis that all replicas share "
          "(docs/store.md), an SQLite file, or memory, which is enough for one replica.");
ABSL_FLAG(std::string, advertise, "",
          "HOST:PORT at which the other replicas reach this one; empty: that of --listen.");
ABSL_FLAG(bool, shared_node_certificates, false,
          "Accept a certificate of role node without a host name for every node. A thief of such a "
          "certificate on one machine can then speak for all nodes (docs/security.md).");
ABSL_FLAG(std::vector<std::string>, node_networks, {},
          "Networks of addresses that nodes may register in addition to the one that they call "
          "from, separated by commas: 10.4.0.0/16.");
ABSL_FLAG(int, max_channels, 1024, "Idle connections to node executors that are kept open.");
ABSL_FLAG(int, max_node_calls, 1024,
          "Simultaneous calls to node executors for one call of a client.");
ABSL_FLAG(std::vector<std::string>, bundle_readers, {},
          "Addresses of node executors that may read bundles, separated by commas.");
ABSL_FLAG(std::vector<std::string>, bundle_root, {},
          "Directories below which bundles may be read, separated by commas.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones.");
ABSL_FLAG(std::string, tenant_nodes, "",
          "YAML file with the nodes of each tenant (docs/security.md); loaded again when it "
          "changes. Empty: every tenant sees every node.");
ABSL_FLAG(std::vector<std::string>, prometheus, {},
          "Addresses of Prometheus-compatible servers, or their data folders, with time series of "
          "the live nodes, separated by commas (docs/telemetry.md); empty: checks telemetry.* are "
          "skipped for them.");
ABSL_FLAG(std::vector<std::string>, prometheus_key_file, {},
          "Files with the value of the Authorization header, \"Bearer x\" or \"Basic x\": one for "
          "each server, in their order; none: without.");
ABSL_FLAG(std::vector<std::string>, prometheus_headers_file, {},
          "Files with further headers, such as X-Scope-OrgID, one on each line: one file for each "
          "server, in their order; none: without.");
ABSL_FLAG(absl::Duration, node_timeout, absl::Seconds(60), "Time limit of one call to a node.");
ABSL_FLAG(absl::Duration, node_pause, absl::Minutes(1),
          "Pause before a node that did not answer is called again.");
ABSL_FLAG(std::vector<std::string>, node_actions, {},
          "Actions of the knowledge's actions/*.yaml, NAME,..., that node executors carry out "
          "after a person's approval. The gateway's --node_actions must offer them, and "
          "galen-node's --repairs must allow them (docs/repair.md).");
ABSL_FLAG(std::string, store_seal, "",
          "File with the key that seals decisions about actions: the gateway's --store_seal. "
          "Required with --node_actions and a Redis (docs/security.md).");
ABSL_FLAG(bool, unsealed_store, false, "Trust unsealed decisions about actions in a Redis.");
ABSL_FLAG(int, repairs_at_once, 2, "Nodes of the whole fleet that are repaired at the same time.");
ABSL_FLAG(int, threads, 4, "Calls worked on at the same time.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::execution {
namespace {

// Actions that may run on nodes.
absl::StatusOr<std::vector<remediation::RunAction>> LoadOffered(
    const std::vector<std::string>& knowledge) {
  GALEN_ASSIGN_OR_RETURN(
      const remediation::NodeActions offered,
      remediation::LoadNodeActions(knowledge, absl::GetFlag(FLAGS_node_actions)));
  std::vector<remediation::RunAction> known;
  for (const remediation::NodeAction& action : offered.actions) {
    if (action.run.has_value()) known.push_back(*action.run);
  }
  return known;
}

struct Repairs {
  Repairs(store::Records& records, const remediation::FleetLimits& limits)
      : approvals(records), breaker(records, limits) {}
  remediation::ApprovalStore approvals;
  remediation::RepairCircuitBreaker breaker;
  std::unique_ptr<RepairLoop> loop;
};

// Null: none is carried out.
absl::StatusOr<std::unique_ptr<Repairs>> OpenRepairs(store::Records& records,
                                                     std::vector<remediation::RunAction> known,
                                                     const NodeRegistry& registry,
                                                     const CheckRunner& runner,
                                                     const Clock& clock) {
  if (known.empty()) return nullptr;
  const int at_once = absl::GetFlag(FLAGS_repairs_at_once);
  if (at_once < 1) return absl::InvalidArgumentError("--repairs_at_once: must be 1 or more");
  remediation::FleetLimits limits;
  limits.at_once = at_once;
  auto repairs = std::make_unique<Repairs>(records, limits);
  repairs->loop = std::make_unique<RepairLoop>(
      repairs->approvals, repairs->breaker, std::move(known), clock, AskNodes(registry),
      CheckNodes(runner),
      RepairLoop::Options{.at_once = at_once,
                          .tell = [](const std::string& news) { log::Info(news); }});
  return repairs;
}

absl::StatusOr<RegistrationRules> RulesFromFlags(const rpc::Security& security) {
  RegistrationRules rules;
  rules.shared_certificates = absl::GetFlag(FLAGS_shared_node_certificates);
  if (rules.shared_certificates && security.tls()) {
    log::Warning(
        "--shared_node_certificates: anyone with the certificate of one node can speak for every "
        "node without a certificate of its own");
  }
  for (const std::string& text : absl::GetFlag(FLAGS_node_networks)) {
    const absl::StatusOr<Network> network = ParseNetwork(text);
    if (!network.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--node_networks: ", network.status().message()));
    }
    rules.networks.push_back(*network);
  }
  rules.audit = security.audit();
  rules.tell = [](const std::string& news) { log::Warning(news); };
  return rules;
}

absl::Status Serve() {
  const std::vector<std::string> roots = absl::GetFlag(FLAGS_bundle_root);
  if (roots.empty() && !absl::GetFlag(FLAGS_bundle_readers).empty()) {
    return absl::InvalidArgumentError(
        "--bundle_readers: needs --bundle_root, the directory that bundles may be read from");
  }
  absl::StatusOr<std::vector<std::string>> directories =
      knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  const auto knowledge =
      knowledge::Load(*directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
  if (!knowledge.ok()) return knowledge.status();

  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kExecution));
  if (!security.ok()) return security.status();
  if (absl::GetFlag(FLAGS_max_channels) < 1 || absl::GetFlag(FLAGS_max_node_calls) < 1) {
    return absl::InvalidArgumentError("--max_channels and --max_node_calls: must be 1 or more");
  }
  GALEN_ASSIGN_OR_RETURN(const RegistrationRules rules, RulesFromFlags(**security));
  // `host`: the node that must answer there, "" no matter which.
  const auto connect =
      [&security, shared = rules.shared_certificates](
          const std::string& address,
          const std::string& host) -> absl::StatusOr<std::unique_ptr<clients::NodeClient>> {
    GALEN_ASSIGN_OR_RETURN(
        auto channel, rpc::Connect(address, **security, {security::Role::kNode, host, shared}));
    return clients::MakeGrpcNodeClient(std::move(channel));
  };
  NodeRegistry::Addresses nodes;
  for (const std::string& entry : absl::GetFlag(FLAGS_nodes)) {
    const std::vector<std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--nodes: \"", entry, "\" is not host=address"));
    }
    // Connections are made when they are needed; what no connection can be made to is told now.
    GALEN_RETURN_IF_ERROR(
        (*security)->ForChannel(parts[1], {security::Role::kNode, parts[0]}).status());
    nodes[parts[0]] = parts[1];
  }
  std::vector<std::unique_ptr<clients::NodeClient>> owned;
  std::vector<clients::NodeClient*> readers;
  for (const std::string& address : absl::GetFlag(FLAGS_bundle_readers)) {
    GALEN_ASSIGN_OR_RETURN(owned.emplace_back(), connect(address, ""));
    readers.push_back(owned.back().get());
  }
  const auto store = store::OpenStore(absl::GetFlag(FLAGS_store));
  if (!store.ok()) return store.status();
  for (const std::string& warning : (*store)->warnings()) {
    log::Warning(absl::StrCat((*store)->Describe(), ": ", warning));
  }
  NodePool node_pool(connect,
                     {.max_clients = static_cast<std::size_t>(absl::GetFlag(FLAGS_max_channels))});
  ExecutionPool peer_pool(
      [&security](const std::string& address,
                  const std::string&) -> absl::StatusOr<std::unique_ptr<clients::ExecutionClient>> {
        GALEN_ASSIGN_OR_RETURN(auto channel,
                               rpc::Connect(address, **security, {security::Role::kExecution}));
        return clients::MakeGrpcExecutionClient(rpc::Replicas::Of(std::move(channel)));
      },
      {.max_clients = 64});
  NodeRegistry registry(std::move(nodes), std::move(readers), node_pool, (*security)->tls());
  Peers peers(peer_pool);
  CheckRunner::Options options;
  options.node_timeout = absl::GetFlag(FLAGS_node_timeout);
  options.node_pause = absl::GetFlag(FLAGS_node_pause);
  options.limits.calls = static_cast<std::size_t>(absl::GetFlag(FLAGS_max_node_calls));
  options.peers = &peers;
  const auto bundle_root = [&roots](const std::string& directory) {
    return host::ResolveWithin(directory, roots, "--bundle_root");
  };
  options.bundle_nodes =
      [&bundle_root](const std::string& directory) -> absl::StatusOr<std::vector<std::string>> {
    GALEN_ASSIGN_OR_RETURN(const std::string path, bundle_root(directory));
    GALEN_ASSIGN_OR_RETURN(const auto bundle, host::Bundle::Open(path));
    return bundle->nodes();
  };
  const SystemClock clock;
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<telemetry::SourceAddress> sources,
      telemetry::PairSources(absl::GetFlag(FLAGS_prometheus),
                             absl::GetFlag(FLAGS_prometheus_key_file),
                             absl::GetFlag(FLAGS_prometheus_headers_file), "--prometheus_"));
  GALEN_ASSIGN_OR_RETURN(TelemetryChecks::Options measuring,
                         TelemetryChecks::Load(*directories, sources));
  if (!roots.empty()) measuring.bundle_root = bundle_root;
  TelemetryChecks telemetry(std::move(measuring), clock);
  options.telemetry = &telemetry;
  const node_history::NodeFailureStore failure_store((*store)->records());
  HistoryChecks history(failure_store, clock);
  options.history = &history;
  std::unique_ptr<TenantNodesFile> tenant_nodes;
  if (const std::string path = absl::GetFlag(FLAGS_tenant_nodes); !path.empty()) {
    GALEN_ASSIGN_OR_RETURN(tenant_nodes,
                           TenantNodesFile::Open(path, clock, [](const std::string& news) {
                             log::Warning(absl::StrCat("--tenant_nodes: ", news));
                           }));
    options.tenant_nodes = tenant_nodes.get();
  }
  HotSwap<knowledge::Knowledge> book(*knowledge);
  const CheckRunner runner(registry, book, clock, options);
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/1024);
  NodeWatch watch(registry, clock, NodeWatch::Options());
  NodeDirectory node_directory(
      (*store)->nodes(), clock,
      {.on_change =
           [&registry, &peers](const MembershipView& view, const std::string& self) {
             registry.SetRegistered(view.nodes);
             peers.Use(self, view.replicas);
           },
       .tell = [](const std::string& news) { log::Warning(news); }});
  GALEN_ASSIGN_OR_RETURN(const std::vector<remediation::RunAction> offered,
                         LoadOffered(*directories));
  DryRuns dry_runs(offered, clock, SeeNodes(runner), AskNodesAtOnce(registry),
                   CheckNodesAtOnce(runner), DryRuns::Options());
  ExecutionServiceImpl service(runner, watch, executor, (*security)->guard(), &node_directory,
                               &dry_runs, rules);
  knowledge::Reloader reloader({.directories = *directories,
                                .cache_directory = knowledge::DefaultCacheDirectory(),
                                .apply =
                                    [&book](std::shared_ptr<const knowledge::Knowledge> loaded) {
                                      book.Set(std::move(loaded));
                                      return absl::OkStatus();
                                    },
                                .tell = [](const std::string& news) { log::Info(news); }},
                               **knowledge);
  reloader.Start();
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Seal> seal,
                         store::OpenSeal(absl::GetFlag(FLAGS_store_seal), (*store)->IsShared(),
                                         absl::GetFlag(FLAGS_unsealed_store) || offered.empty()));
  const std::unique_ptr<store::Records> sealed =
      seal ? store::SealRecords((*store)->records(), *seal,
                                [](const std::string& what) {
                                  log::Warning(absl::StrCat("record ignored: ", what));
                                })
           : nullptr;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<Repairs> repairs,
                         OpenRepairs(sealed == nullptr ? (*store)->records() : *sealed, offered,
                                     registry, runner, clock));
  metrics::Registry numbers;
  numbers.Add(metrics::QueueNumbers("calls", executor));
  numbers.Add(runner.metrics());
  const auto metrics_server = service::ServeMetrics(numbers);
  if (!metrics_server.ok()) return metrics_server.status();
  return rpc::ServeUntilSignal(
      {.address = absl::GetFlag(FLAGS_listen),
       .security = security->get(),
       .health_address = rpc::HealthAddressFromFlag(),
       .drain_grace = absl::GetFlag(FLAGS_drain_grace),
       .on_listening =
           [&node_directory](int port) {
             const std::string address = absl::GetFlag(FLAGS_advertise);
             node_directory.Start(
                 address.empty() ? rpc::AddressOf(absl::GetFlag(FLAGS_listen), port) : address);
           },
       .on_drain = [&node_directory] { node_directory.Stop(); },
       .on_hangup = [&reloader] { reloader.Reload(); }},
      {&service});
}

}  // namespace
}  // namespace galen::execution

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.execution.v1.ExecutionService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-execution", &galen::execution::Serve);
}
