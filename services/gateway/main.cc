// galen-gateway: serves the public API over HTTP, and calls galen-orchestrator for it.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/file_limit.h"
#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/base/timers.h"
#include "common/clients/grpc_clients.h"
#include "common/knowledge/load.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/serve.h"
#include "common/security/audit/audit_log.h"
#include "common/security/loopback.h"
#include "common/security/warrants/signer.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "common/store/seal.h"
#include "common/store/store.h"
#include "galen/v1/action_service.pb.h"
#include "galen/v1/check_service.pb.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/access/api_key_store.h"
#include "services/gateway/access/key_access.h"
#include "services/gateway/access/refusal_counting_access.h"
#include "services/gateway/access/store_rate_limiter.h"
#include "services/gateway/actions/action_upstream.h"
#include "services/gateway/actions/outcome_publisher.h"
#include "services/gateway/api/api.h"
#include "services/gateway/api/openapi.h"
#include "services/gateway/checks/check_upstream.h"
#include "services/gateway/console/console.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/http/cors.h"
#include "services/gateway/http/router.h"
#include "services/gateway/http/server.h"
#include "services/gateway/info/info_api.h"
#include "services/gateway/info/readable_knowledge.h"
#include "services/gateway/kubernetes.h"
#include "services/gateway/mcp/mcp.h"
#include "services/gateway/oidc/oidc_access.h"
#include "services/gateway/oidc/oidc_config.h"
#include "services/gateway/redaction/customer_redactor.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/ticket_metrics.h"
#include "services/gateway/tickets/ticket_service.h"
#include "services/gateway/uploads/fill_in.h"
#include "services/gateway/uploads/uploads.h"
#include "services/gateway/upstream/grpc_upstream.h"
#include "services/gateway/webhooks/webhook_metrics.h"
#include "services/gateway/webhooks/webhooks.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:8080",
          "IP address and port to serve HTTP on. An address off loopback needs --https_cert, or "
          "--plain_http behind a proxy that terminates TLS.");
ABSL_FLAG(std::string, https_cert, "",
          "PEM file of the server certificate with its chain; loaded again when it changes. Empty: "
          "plain HTTP.");
ABSL_FLAG(std::string, https_key, "", "PEM file of its key.");
ABSL_FLAG(bool, plain_http, false,
          "Serve plain HTTP off loopback too: API keys are then sent unencrypted unless a proxy in "
          "router terminates TLS.");
ABSL_FLAG(std::string, orchestrator, "127.0.0.1:50050",
          "Address of galen-orchestrator; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(std::string, execution, "",
          "Address of galen-execution, in the same form, for single checks (CheckService) and dry "
          "runs of repairs. Empty: neither is available.");
ABSL_FLAG(std::string, store, "",
          "SQLite file or Redis URL (docs/store.md) that has the API keys and the limits. "
          "Required; several gateways share one.");
ABSL_FLAG(std::string, store_seal, "",
          "File with the key that seals API keys and decisions about actions in the store; the "
          "store does not contain it. galen-execution, galen-watch and galen keys need the same "
          "file (docs/security.md). Required with a Redis.");
ABSL_FLAG(bool, unsealed_store, false,
          "Trust unsealed records in a Redis: everyone who may write there can then make keys and "
          "approve actions.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones. Shown to "
          "people. The last audience.txt in them defines what customers are not shown.");
ABSL_FLAG(double, requests_per_second, 50, "Requests of one tenant, on average.");
ABSL_FLAG(double, requests_burst, 200, "Requests of one tenant at once.");
ABSL_FLAG(double, diagnoses_per_second, 2, "Diagnoses that one tenant starts, on average.");
ABSL_FLAG(double, diagnoses_burst, 50, "Diagnoses that one tenant starts at once.");
ABSL_FLAG(int, streams_per_key, 256, "Streams of events that one key has open at a time.");
ABSL_FLAG(double, diagnoses_per_day, 0,
          "Quota of diagnoses that one tenant may start in a day; it refills evenly. 0: no quota.");
ABSL_FLAG(std::string, oidc, "",
          "YAML file of the identity providers whose tokens are accepted in addition to API keys "
          "(docs/api.md).");
ABSL_FLAG(std::vector<std::string>, cors_origins, {},
          "Other origins whose pages may call the API, separated by commas: "
          "https://ops.example.com; \"*\": every origin.");
ABSL_FLAG(std::string, uploads, "",
          "Directory for logs and bundles that customers send; also a --log_root of "
          "galen-summarization and a --bundle_root of galen-execution and galen-node. None: no "
          "uploads.");
ABSL_FLAG(std::int64_t, upload_bytes, std::int64_t{4} << 30, "Bytes of one upload as it is sent.");
ABSL_FLAG(std::int64_t, uploads_tenant_bytes, std::int64_t{32} << 30,
          "Bytes of one tenant's uploads, unpacked.");
ABSL_FLAG(absl::Duration, uploads_keep, absl::Hours(24 * 7), "How long an upload is kept.");
ABSL_FLAG(std::string, tickets, "",
          "YAML file of the ticket systems and what each gets (docs/tickets.md). Empty: none.");
ABSL_FLAG(bool, console, true, "Serve the web console at /.");
ABSL_FLAG(std::string, webhooks, "",
          "YAML file of the endpoints that other systems send webhooks to (docs/webhooks.md). "
          "Empty: none.");
ABSL_FLAG(
    std::vector<std::string>, node_actions, {},
    "Actions on nodes that are offered, NAME,...: galen-watch carries out those of the knowledge's "
    "kubernetes/actions.yaml, node executors those of its actions/*.yaml (docs/repair.md).");
ABSL_FLAG(int, max_connections, 10'000, "Connections of clients at the same time.");
ABSL_FLAG(int, http_threads, 2, "Threads that read and write for all connections.");
ABSL_FLAG(int, threads, 4, "Threads that wait for the store.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::gateway {
namespace {

absl::StatusOr<http::ServerOptions> HttpOptions() {
  http::ServerOptions options;
  options.address = absl::GetFlag(FLAGS_listen);
  options.tls = {absl::GetFlag(FLAGS_https_cert), absl::GetFlag(FLAGS_https_key)};
  if (options.tls.certificate.empty() != options.tls.key.empty()) {
    return absl::InvalidArgumentError("--https_cert, --https_key: one needs the other");
  }
  if (options.tls.certificate.empty() && !absl::GetFlag(FLAGS_plain_http) &&
      !security::IsLoopback(options.address)) {
    return absl::FailedPreconditionError(
        absl::StrCat("--listen=", options.address,
                     ": is not loopback, and API keys would cross the network in the clear; give "
                     "--https_cert and --https_key, or --plain_http where something ends TLS"));
  }
  for (const int number : {absl::GetFlag(FLAGS_max_connections), absl::GetFlag(FLAGS_http_threads),
                           absl::GetFlag(FLAGS_threads)}) {
    if (number >= 1) continue;
    return absl::InvalidArgumentError(
        "--max_connections, --http_threads, --threads: must be 1 or more");
  }
  const auto wanted = static_cast<std::size_t>(absl::GetFlag(FLAGS_max_connections));
  const int files = RaiseFileLimit();
  options.max_connections = http::ConnectionsWithin(wanted, files);
  if (options.max_connections < wanted) {
    log::Warning(absl::StrCat("--max_connections: ", options.max_connections, " instead of ",
                              wanted, ", as this process may have ", files,
                              " files open (ulimit -n, LimitNOFILE=)"));
  }
  options.threads = absl::GetFlag(FLAGS_http_threads);
  options.tell = [](const std::string& news) { log::Info(news); };
  return options;
}

absl::StatusOr<StoreRateLimiter::Options> RateOptions() {
  StoreRateLimiter::Options options;
  options.requests = {absl::GetFlag(FLAGS_requests_per_second),
                      absl::GetFlag(FLAGS_requests_burst)};
  options.diagnoses = {absl::GetFlag(FLAGS_diagnoses_per_second),
                       absl::GetFlag(FLAGS_diagnoses_burst)};
  GALEN_RETURN_IF_ERROR(store::CheckRateLimit("--requests_...", options.requests, 1));
  GALEN_RETURN_IF_ERROR(store::CheckRateLimit("--diagnoses_...", options.diagnoses, 1));
  options.diagnoses_a_day = absl::GetFlag(FLAGS_diagnoses_per_day);
  if (options.diagnoses_a_day != 0 && !(options.diagnoses_a_day >= 1)) {
    return absl::InvalidArgumentError("--diagnoses_per_day: must be 1 or more, or 0 for no quota");
  }
  return options;
}

UploadStore::Options UploadOptions() {
  UploadStore::Options options;
  options.directory = absl::GetFlag(FLAGS_uploads);
  options.most_bytes = absl::GetFlag(FLAGS_upload_bytes);
  options.tenant_bytes = absl::GetFlag(FLAGS_uploads_tenant_bytes);
  options.keep = absl::GetFlag(FLAGS_uploads_keep);
  return options;
}

// Null without --webhooks.
absl::StatusOr<std::unique_ptr<webhooks::Webhooks>> OpenWebhooks(
    const std::vector<std::string>& knowledge, const webhooks::Webhooks::Needs& needs) {
  if (absl::GetFlag(FLAGS_webhooks).empty()) return nullptr;
  return webhooks::Webhooks::Open(absl::GetFlag(FLAGS_webhooks), knowledge, needs);
}

// The log of decisions by persons; null if it is not configured.
absl::StatusOr<std::unique_ptr<security::AuditLog>> OpenAudit() {
  const std::string file = rpc::SecurityFromFlags(security::Role::kGateway).audit_log;
  if (file.empty()) return nullptr;
  return security::AuditLog::Open(file);
}

// Signs approvals of actions that run on a node; null without certificates.
galen::remediation::ApprovalStore::Sign SignBy(const security::WarrantSigner* signer) {
  if (signer == nullptr) return nullptr;
  return [signer](const galen::v1::Action& action, absl::Time expires) {
    security::Warrant warrant;
    warrant.action = action.name();
    warrant.content_hash = action.content_hash();
    warrant.node = action.target().node();
    warrant.approver = action.decided_by();
    warrant.expires = expires;
    return signer->Sign(warrant);
  };
}

// Proposed actions, their approvals and their outcomes.
struct Actions {
  Actions(Upstream& mesh, store::Records& records, const galen::remediation::NodeActions& offered,
          const Clock& clock, security::AuditLog* audit, const security::WarrantSigner* signer,
          clients::ExecutionClient* execution)
      : approvals(records, offered, nullptr, SignBy(signer)),
        outcomes(records),
        source(mesh),
        pool(std::in_place, /*threads=*/2, /*max_queued=*/1000),
        upstream(mesh, approvals, *pool, clock, audit, execution) {
    publisher.emplace(
        approvals, outcomes, offered, [this](const std::string& name) { return source.Get(name); },
        [this](const galen::v1::SubmitFeedbackRequest& request) { return source.Submit(request); },
        actions::OutcomePublisher::Options{
            .tell = [](const std::string& news) { log::Warning(news); }});
  }

  galen::remediation::ApprovalStore approvals;
  galen::remediation::RepairOutcomeStore outcomes;
  tickets::UpstreamSource source;
  // Ends after the mesh, whose answers need it, and before execution, which it calls.
  std::optional<ThreadPool> pool;
  actions::ActionUpstream upstream;
  std::optional<actions::OutcomePublisher> publisher;  // asks the mesh, and ends before it
};

// The client of the service that runs single checks; null without --execution.
absl::StatusOr<std::unique_ptr<clients::ExecutionClient>> OpenExecution(rpc::Security& security) {
  const std::string address = absl::GetFlag(FLAGS_execution);
  if (address.empty()) return nullptr;
  GALEN_ASSIGN_OR_RETURN(auto replicas,
                         rpc::Replicas::Connect(address, security, {security::Role::kExecution}));
  return clients::MakeGrpcExecutionClient(
      std::move(replicas), [&security](const std::string& resource) {
        return security.ClaimFor(resource, security::Role::kExecution);
      });
}

// Reports conclusions to ticket systems; null if there are none.
absl::StatusOr<std::unique_ptr<tickets::TicketService>> OpenTickets(
    store::Store& store, Upstream& mesh, const Clock& clock, const CustomerRedactor& redactor,
    const std::vector<std::string>& knowledge) {
  const std::string file = absl::GetFlag(FLAGS_tickets);
  if (file.empty()) return nullptr;
  GALEN_ASSIGN_OR_RETURN(tickets::Site site, tickets::LoadSite(file, knowledge));
  return std::make_unique<tickets::TicketService>(
      std::move(site), store, mesh, clock,
      [&redactor](const std::string& tenant, galen::v1::Diagnosis& diagnosis) {
        redactor.ForCustomer(tenant, diagnosis);
      },
      [](const std::string& news) { log::Warning(news); });
}

// Forwards ticket events of webhooks to tickets; null if none are filed.
webhooks::TicketUpdateHandler ForwardTicketUpdates(tickets::TicketService* ticket_service) {
  if (ticket_service == nullptr) return nullptr;
  return [ticket_service](const webhooks::TicketEvent& note) {
    using Kind = webhooks::TicketEvent::Kind;
    const auto kind = note.kind == Kind::kClosed ? tickets::TicketUpdate::Kind::kClosed
                                                 : tickets::TicketUpdate::Kind::kComment;
    return ticket_service->ReceiveUpdate(
        note.tenant, {note.target, note.ticket, kind, note.author, note.text, note.delivery},
        /*about=*/note.kind != Kind::kOther);
  };
}

absl::Status Serve() {
  if (absl::GetFlag(FLAGS_store).empty()) {
    return absl::InvalidArgumentError("--store: name an SQLite file or a Redis URL");
  }
  GALEN_ASSIGN_OR_RETURN(const http::ServerOptions http_options, HttpOptions());
  GALEN_ASSIGN_OR_RETURN(const StoreRateLimiter::Options rate_options, RateOptions());
  const auto store = store::OpenStore(absl::GetFlag(FLAGS_store));
  if (!store.ok()) return store.status();
  for (const std::string& warning : (*store)->warnings()) {
    log::Warning(absl::StrCat((*store)->Describe(), ": ", warning));
  }
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kGateway));
  if (!security.ok()) return security.status();
  GALEN_ASSIGN_OR_RETURN(auto to_orchestrator,
                         rpc::Replicas::Connect(absl::GetFlag(FLAGS_orchestrator), **security,
                                                {security::Role::kOrchestrator}));
  std::unique_ptr<Upstream> upstream =
      MakeGrpcUpstream(std::move(to_orchestrator), [&security](const std::string& resource) {
        return (*security)->ClaimFor(resource, security::Role::kOrchestrator);
      });
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge)));
  GALEN_ASSIGN_OR_RETURN(const CustomerRedactor redactor, CustomerRedactor::Load(directories));
  const SystemClock clock;
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Seal> seal,
                         store::OpenSeal(absl::GetFlag(FLAGS_store_seal), (*store)->IsShared(),
                                         absl::GetFlag(FLAGS_unsealed_store)));
  std::atomic<std::uint64_t> unsealed = 0;
  const auto refused = [&unsealed](const std::string& what) {
    unsealed.fetch_add(1, std::memory_order_relaxed);
    log::Warning(absl::StrCat("record ignored: ", what));
  };
  const std::unique_ptr<store::Records> sealed =
      seal ? store::SealRecords((*store)->records(), *seal, refused) : nullptr;
  store::Records& records = sealed == nullptr ? (*store)->records() : *sealed;
  ApiKeyStore keys((*store)->journal(), seal ? &*seal : nullptr, refused);
  GALEN_RETURN_IF_ERROR(keys.Refresh());
  if (keys.List().empty()) log::Warning("there is no API key yet: galen keys create makes one");
  KeyAccess key_access(keys, clock, [](const std::string& news) { log::Warning(news); });
  std::unique_ptr<OidcAccess> oidc;
  if (const std::string path = absl::GetFlag(FLAGS_oidc); !path.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<OidcIssuer> issuers, LoadOidcConfig(path));
    oidc = std::make_unique<OidcAccess>(
        issuers, key_access, clock, [](const std::string& news) { log::Warning(news); },
        OidcAccess::Options());
  }
  RefusalCountingAccess access(oidc == nullptr ? static_cast<Access&>(key_access) : *oidc, clock,
                               [](const std::string& news) { log::Warning(news); });
  auto executor = std::make_unique<ThreadPool>(absl::GetFlag(FLAGS_threads), /*max_queued=*/10'000);
  StoreRateLimiter rates(
      (*store)->rates(), clock, *executor, rate_options, [](const absl::Status& problem) {
        log::Warning(absl::StrCat("requests are let through uncounted: ", problem.message()));
      });
  const auto audit = OpenAudit();
  if (!audit.ok()) return audit.status();
  GALEN_ASSIGN_OR_RETURN(
      const galen::remediation::NodeActions offered,
      galen::remediation::LoadNodeActions(directories, absl::GetFlag(FLAGS_node_actions)));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<clients::ExecutionClient> execution,
                         OpenExecution(**security));
  Actions actions(*upstream, records, offered, clock, audit->get(), (*security)->warrant_signer(),
                  execution.get());
  CheckUpstream mesh(actions.upstream, execution.get());
  const auto* service = galen::v1::CreateDiagnosisRequest::descriptor()->file()->FindServiceByName(
      "DiagnosisService");
  GALEN_ASSIGN_OR_RETURN(std::vector<Route> routes, RoutesOf(*service));
  for (const google::protobuf::ServiceDescriptor* more :
       {galen::v1::ListActionsRequest::descriptor()->file()->FindServiceByName("ActionService"),
        galen::v1::RunChecksRequest::descriptor()->file()->FindServiceByName("CheckService")}) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<Route> of_it, RoutesOf(*more));
    routes.insert(routes.end(), of_it.begin(), of_it.end());
  }
  GALEN_ASSIGN_OR_RETURN(std::string openapi, OpenApiOf(routes, PublicApiDescriptors(),
                                                        !absl::GetFlag(FLAGS_uploads).empty()));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<Uploads> uploads,
                         Uploads::Open(UploadOptions(), access, rates, clock));
  // Null until the knowledge is read.
  using Causes = std::set<std::string, std::less<>>;
  HotSwap<Causes> causes{std::shared_ptr<const Causes>()};
  Api::Options api_options;
  api_options.streams_per_key = absl::GetFlag(FLAGS_streams_per_key);
  if (api_options.streams_per_key < 1) {
    return absl::InvalidArgumentError("--streams_per_key: must be 1 or more");
  }
  api_options.is_cause = [&causes](absl::string_view label) {
    const std::shared_ptr<const Causes> known = causes.Get();
    return known == nullptr || known->contains(label);
  };
  if (uploads != nullptr) {
    api_options.fill_in = [&uploads](const std::string& tenant,
                                     google::protobuf::Message& request) {
      return FillInUploads(*uploads->store, tenant, request);
    };
    api_options.name_again = [&uploads](const std::string& tenant,
                                        google::protobuf::Message& answer) {
      NameUploads(*uploads->store, tenant, answer);
    };
  }
  Api api(std::move(routes), mesh, access, rates, redactor, std::move(openapi), api_options);
  http::Router router(api);
  if (uploads != nullptr) router.Add("/v1/tenants/*/uploads/", *uploads->api);
  const std::unique_ptr<ReadableKnowledge> readable = ReadableKnowledge::Open(
      directories, [](const std::string& news) { log::Info(news); },
      [&redactor, &causes](const knowledge::Knowledge& knowledge) {
        redactor.Use(knowledge.base());
        auto leaves = std::make_shared<Causes>();
        for (const auto& label : knowledge.base().labels()) {
          if (knowledge::IsLeaf(label)) leaves->insert(label.label());
        }
        causes.Set(std::move(leaves));
      });
  InfoApi info(access, (*store)->nodes(), clock, *executor,
               readable == nullptr ? nullptr : &readable->shown(), uploads != nullptr);
  for (const char* const path : {"/v1/whoami/", "/v1/knowledge/", "/v1/nodes/"}) {
    router.Add(path, info);
  }
  Console console;
  if (absl::GetFlag(FLAGS_console)) {
    router.Add("/", console);
    router.Add("/console/", console);
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<tickets::TicketService> ticket_service,
                         OpenTickets(**store, *upstream, clock, redactor, directories));
  GALEN_ASSIGN_OR_RETURN(
      std::unique_ptr<webhooks::Webhooks> hooks,
      OpenWebhooks(directories, {(*store)->journal(), *upstream, rates, clock, *executor,
                                 [](const std::string& news) { log::Warning(news); },
                                 ForwardTicketUpdates(ticket_service.get())}));
  if (hooks != nullptr) router.Add("/hooks/", hooks->handler());
  GALEN_ASSIGN_OR_RETURN(
      std::unique_ptr<Kubernetes> kubernetes,
      Kubernetes::Open({*upstream, rates, **store, clock, redactor, directories}));
  ThreadPool assistants(/*threads=*/2, /*max_queued=*/10'000);
  Timers timers;
  timers.Start();
  mcp::Mcp mcp(router, assistants, timers, {.origins = absl::GetFlag(FLAGS_cors_origins)});
  router.Add("/mcp/", mcp);
  const auto cors = http::Cors::Make(absl::GetFlag(FLAGS_cors_origins), router);
  if (!cors.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--cors_origins: ", cors.status().message()));
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<http::Server> server,
                         http::Server::Start(http_options, **cors));
  metrics::Registry registry;
  if (ticket_service != nullptr) {
    registry.Add(tickets::TicketNumbers([&ticket_service] { return ticket_service->counts(); }));
  }
  registry.Add(metrics::QueueNumbers("store", *executor));
  registry.Add(api.calls());
  if (hooks != nullptr) registry.Add(webhooks::NumbersOf(*hooks));
  registry.Add(HttpNumbers([&server] { return server->counts(); }));
  registry.Add(AccessNumbers([&access] { return access.refused(); },
                             [&unsealed] { return unsealed.load(std::memory_order_relaxed); }));
  auto metrics_server = service::ServeMetrics(registry);
  if (!metrics_server.ok()) return metrics_server.status();
  log::Info(absl::StrCat("serving ", http_options.tls.certificate.empty() ? "HTTP" : "HTTPS",
                         " at ", http_options.address, " (port ", server->port(), ")"));
  rpc::AwaitTermination();
  log::Info(absl::StrCat("draining for at most ",
                         absl::FormatDuration(absl::GetFlag(FLAGS_drain_grace))));
  api.EndStreams();
  server->Drain(absl::GetFlag(FLAGS_drain_grace));
  // Callers end before the components that they call; each waits for its calls in flight.
  metrics_server->reset();
  server.reset();
  timers.Stop();
  if (hooks != nullptr) hooks->Stop();
  kubernetes.reset();
  executor.reset();
  hooks.reset();
  uploads.reset();
  ticket_service.reset();
  actions.publisher.reset();
  upstream.reset();
  actions.pool.reset();
  execution.reset();
  return absl::OkStatus();
}

}  // namespace
}  // namespace galen::gateway

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves the public API over HTTP");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  return galen::service::Run("galen-gateway", &galen::gateway::Serve);
}
