// galen-orchestrator: serves DiagnosisService.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/periodic_task.h"
#include "common/base/status_macros.h"
#include "common/clients/grpc_clients.h"
#include "common/curation/confirmed.h"
#include "common/curation/proposal_store.h"
#include "common/intake/pasted_evidence_store.h"
#include "common/knowledge/load.h"
#include "common/log_sources/named_logs.h"
#include "common/node_history/node_failure_store.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/serve.h"
#include "common/security/audit/audit_log.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "common/store/store.h"
#include "services/orchestrator/byte_quota.h"
#include "services/orchestrator/orchestrator.h"
#include "services/orchestrator/orchestrator_service.h"
#include "services/orchestrator/retention.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50050", "Address to serve gRPC on.");
ABSL_FLAG(std::string, store, "galen.db",
          "Store of the diagnoses: an SQLite file, which is created if it is missing, or a Redis "
          "that many orchestrators share: redis://HOST:PORT, redis+sentinel://HOST:PORT,.../MASTER "
          "or redis+cluster://HOST:PORT,... (docs/store.md).");
ABSL_FLAG(std::string, summarization, "127.0.0.1:50051",
          "Address of galen-summarization; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(std::string, planning, "127.0.0.1:50052",
          "Address of galen-planning; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(std::string, execution, "127.0.0.1:50053",
          "Address of galen-execution; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(std::string, reflection, "127.0.0.1:50055",
          "Address of galen-reflection; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(std::string, conclusion, "127.0.0.1:50056",
          "Address of galen-conclusion; several replicas are separated by commas, or one name "
          "resolves to all of them.");
ABSL_FLAG(
    std::string, owner, "",
    "Name under which this orchestrator holds leases: the same after a restart, so that it goes "
    "on at once, and a different one for each orchestrator on the same store. Empty: host name "
    "and, of a file, its path, of a Redis, --listen.");
ABSL_FLAG(std::string, strategy, "tiered",
          "Strategy of diagnoses that do not name one: direct, exhaustive, history, selfplay, "
          "taxonomy or tiered.");
ABSL_FLAG(std::string, tests, "approved",
          "Tests that load a device (docs/dialogue.md): approved: a person allows each; idle: the "
          "site itself also allows those on idle GPUs; never: none runs.");
ABSL_FLAG(absl::Duration, lease_ttl, absl::Seconds(15),
          "Time after which another orchestrator takes the diagnoses of one that is silent.");
ABSL_FLAG(absl::Duration, call_timeout, absl::Seconds(60), "Time limit of one question.");
ABSL_FLAG(absl::Duration, model_timeout, absl::Minutes(10),
          "Time limit of a question to a language model; the limit of its endpoint applies too.");
ABSL_FLAG(absl::Duration, summary_timeout, absl::Minutes(10),
          "Time limit of a summary; half of it is for reading the logs.");
ABSL_FLAG(absl::Duration, checks_timeout, absl::Minutes(10), "Time limit of one batch of checks.");
ABSL_FLAG(int, agent_attempts, galen::orchestrator::RetryLimits().unreachable,
          "Attempts to ask an agent that is unreachable or overloaded, before the diagnosis "
          "continues without the answer: 5 take 3 s, 12 take 36 s.");
ABSL_FLAG(std::string, site, "",
          "The site's knowledge directory: a diagnosis whose cause a person confirms is proposed "
          "there as a past incident. Empty: confirmations are stored only.");
ABSL_FLAG(
    std::string, log_sources, "",
    "YAML file with the site's log sources, which incidents may name instead of sending a log "
    "(docs/intake.md). Needs --evidence. Empty: none.");
ABSL_FLAG(
    std::string, evidence, "",
    "Directory, below --bundle_root of execution and --log_root of summarization, where bundles "
    "are made of the outputs and logs that people paste; kept for 30 days. Empty: pasted text "
    "is searched for messages, and no check reads it.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories for the recognition of pasted outputs; later ones overlay earlier "
          "ones. Read with --evidence only. Empty: the one that came with the program.");
ABSL_FLAG(
    int, max_running, 10'000,
    "Diagnoses that run here at the same time. Further ones wait in the store, where any "
    "orchestrator may start them; the waiting tenant with the fewest running diagnoses is next.");
ABSL_FLAG(double, tenant_bytes_per_day, 512.0 * 1024 * 1024,
          "Bytes of the store that the incidents of one tenant may use in a day, over all "
          "interfaces; the quota refills evenly. Uploads do not count. 0: no limit.");
ABSL_FLAG(std::vector<std::string>, keep_diagnoses, {},
          "How long diagnoses are kept after their last event, for example 90d, or "
          "90d,acme=30d,globex=forever with times of single tenants. Diagnoses that are over are "
          "then deleted (docs/store.md). Empty: nothing is deleted.");
ABSL_FLAG(bool, delete_waiting, false,
          "With --keep_diagnoses: also delete diagnoses that wait for a person, for an answer or "
          "after an escalation.");
ABSL_FLAG(int, tenant_running, 1'000, "Diagnoses of one tenant that run here at the same time.");
ABSL_FLAG(
    int, max_calls, 256,
    "Calls to agents at the same time. Tenants with diagnoses running here have equal shares of "
    "them, and a tenant with a single diagnosis has priority for a while. The closer this is to "
    "the number that the agents can work on at once, the less a tenant waits for others.");
ABSL_FLAG(int, tenant_waiting, 10'000,
          "Diagnoses of one tenant that may wait; more are refused with RESOURCE_EXHAUSTED.");
ABSL_FLAG(int, threads, 4, "Calls and diagnoses worked on at the same time.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");
ABSL_FLAG(std::int64_t, crash_after_event, 0,
          "Fault injection for tests: the program kills itself (SIGKILL) right after an event with "
          "this sequence number is stored. 0: never.");

namespace galen::orchestrator {
namespace {

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

absl::StatusOr<Options> OptionsFromFlags() {
  Options options;
  options.owner = absl::GetFlag(FLAGS_owner);
  if (options.owner.empty()) {
    const std::string where = absl::GetFlag(FLAGS_store);
    std::error_code unknown;
    options.owner = absl::StrCat(HostName(), ":",
                                 store::IsSharedStore(where)
                                     ? absl::GetFlag(FLAGS_listen)
                                     : std::filesystem::absolute(where, unknown).string());
  }
  options.strategy = absl::GetFlag(FLAGS_strategy);
  const std::optional<TestPolicy> tests = ParseTestPolicy(absl::GetFlag(FLAGS_tests));
  if (!tests.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tests ", absl::GetFlag(FLAGS_tests), ": is not never, approved or idle"));
  }
  options.tests = *tests;
  options.lease_ttl = absl::GetFlag(FLAGS_lease_ttl);
  if (options.lease_ttl < absl::Seconds(1)) {
    return absl::InvalidArgumentError("--lease_ttl: must be 1s or more");
  }
  options.call_timeout = absl::GetFlag(FLAGS_call_timeout);
  options.model_timeout = absl::GetFlag(FLAGS_model_timeout);
  options.summary_timeout = absl::GetFlag(FLAGS_summary_timeout);
  options.checks_timeout = absl::GetFlag(FLAGS_checks_timeout);
  for (const absl::Duration limit : {options.call_timeout, options.model_timeout,
                                     options.summary_timeout, options.checks_timeout}) {
    if (limit > absl::ZeroDuration()) continue;
    return absl::InvalidArgumentError(
        "--call_timeout, --model_timeout, --summary_timeout, --checks_timeout: must be more than "
        "0");
  }
  options.retry_limits.unreachable = absl::GetFlag(FLAGS_agent_attempts);
  if (options.retry_limits.unreachable < 1) {
    return absl::InvalidArgumentError("--agent_attempts: must be 1 or more");
  }
  for (const auto& [limit, option] :
       {std::pair{absl::GetFlag(FLAGS_max_running), &options.max_running},
        {absl::GetFlag(FLAGS_tenant_running), &options.tenant_running},
        {absl::GetFlag(FLAGS_tenant_waiting), &options.tenant_waiting},
        {absl::GetFlag(FLAGS_max_calls), &options.max_calls}}) {
    if (limit < 1) {
      return absl::InvalidArgumentError(
          "--max_running, --tenant_running, --tenant_waiting, --max_calls: must be 1 or more");
    }
    *option = static_cast<std::size_t>(limit);
  }
  if (const std::int64_t n = absl::GetFlag(FLAGS_crash_after_event); n > 0) {
    options.after_append = [n](std::int64_t sequence) {
      if (sequence == n) std::raise(SIGKILL);
    };
  }
  if (const std::string site = absl::GetFlag(FLAGS_site); !site.empty()) {
    options.on_confirmed = [site](const v1::Diagnosis& diagnosis) -> absl::Status {
      GALEN_ASSIGN_OR_RETURN(const curation::Proposal proposal, curation::ProposalOf(diagnosis));
      return curation::ProposalStore({site}).Propose(proposal).status();
    };
  }
  if (const std::string evidence = absl::GetFlag(FLAGS_evidence); !evidence.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                           knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge)));
    GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const knowledge::Knowledge> loaded,
                           knowledge::Load(directories, {knowledge::DefaultCacheDirectory()}));
    GALEN_ASSIGN_OR_RETURN(auto kinds, intake::Kinds::Compile(loaded->base()));
    const auto evidence_store =
        std::make_shared<const intake::PastedEvidenceStore>(evidence, std::move(kinds));
    options.take_evidence = [evidence_store](const v1::Incident& incident, const std::string& id) {
      return evidence_store->Take(incident, id, absl::Now());
    };
    options.add_evidence = [evidence_store](const std::string& base, const v1::Incident& incident,
                                            const std::string& id) {
      return evidence_store->AddTo(base, incident, id, absl::Now());
    };
  }
  if (const std::string file = absl::GetFlag(FLAGS_log_sources); !file.empty()) {
    // Lines are kept as evidence, not in the log of events.
    if (!options.take_evidence) {
      return absl::InvalidArgumentError("--log_sources: needs --evidence, to keep what it reads");
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                           knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge)));
    GALEN_ASSIGN_OR_RETURN(log_sources::NamedLogs loaded,
                           log_sources::NamedLogs::Load(file, directories));
    const auto named = std::make_shared<const log_sources::NamedLogs>(std::move(loaded));
    options.fetch_logs = [named](const std::string& parent, const v1::Incident& incident) {
      return named->Fetch(parent, incident, absl::Now());
    };
  }
  options.on_lifecycle_event = [](absl::string_view news) { log::Info(news); };
  options.on_problem = [](absl::string_view diagnosis, const absl::Status& problem) {
    const trace::Scope scope({trace::Current().context, std::string(diagnosis)});
    log::Warning(problem.message());
  };
  return options;
}

// Deletes what is older than --keep_diagnoses allows, as long as it lives.
class RetentionTask {
 public:
  // All must outlive it; `audit` may be null.
  RetentionTask(store::EventLog& log, const Clock& clock, Orchestrator& orchestrator,
                RetentionPolicy policy, security::AuditLog* audit)
      : retention_(log, clock, std::move(policy),
                   [&orchestrator, audit](const std::string& name, MayDelete may) {
                     const absl::Status deleted = orchestrator.DeleteByRetention(name, may);
                     if (deleted.ok() && audit != nullptr) {
                       security::AuditRecord record;
                       record.time = absl::Now();
                       record.method = "retention";
                       record.resource = name;
                       record.outcome = "OK";
                       audit->Put(record);
                     }
                     return deleted;
                   }) {}

 private:
  // One pass; gives the pause before the next.
  absl::Duration Run() {
    constexpr std::int64_t kMostOfPass = 20;
    const absl::StatusOr<Retention::Pass> pass = retention_.Run(kMostOfPass);
    const absl::Status& problem = pass.ok() ? pass->problem : pass.status();
    if (!problem.ok()) log::Warning(absl::StrCat("retention: ", problem.message()));
    if (!pass.ok()) return absl::Minutes(1);
    if (pass->deleted > 0) {
      log::Info(absl::StrCat("retention deleted ", pass->deleted, " diagnoses"));
    }
    return pass->more ? absl::Seconds(1) : absl::Hours(1);
  }

  Retention retention_;
  PeriodicTask task_{[this] { return Run(); }, absl::Seconds(10)};
};

absl::Status Serve() {
  if (absl::GetFlag(FLAGS_threads) < 1) {
    return absl::InvalidArgumentError("--threads: must be 1 or more");
  }
  absl::StatusOr<Options> options = OptionsFromFlags();
  if (!options.ok()) return options.status();
  absl::StatusOr<RetentionPolicy> retention_policy =
      ParseRetention(absl::GetFlag(FLAGS_keep_diagnoses));
  if (!retention_policy.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--keep_diagnoses: ", retention_policy.status().message()));
  }
  retention_policy->waiting = absl::GetFlag(FLAGS_delete_waiting);
  const auto store = store::OpenStore(absl::GetFlag(FLAGS_store));
  if (!store.ok()) return store.status();
  for (const std::string& warning : (*store)->warnings()) {
    log::Warning(absl::StrCat((*store)->Describe(), ": ", warning));
  }
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kOrchestrator));
  if (!security.ok()) return security.status();
  const auto connect = [&security](const std::string& target, security::Role role) {
    return rpc::Replicas::Connect(target, **security, {role});
  };
  GALEN_ASSIGN_OR_RETURN(auto to_summarization, connect(absl::GetFlag(FLAGS_summarization),
                                                        security::Role::kSummarization));
  GALEN_ASSIGN_OR_RETURN(auto to_planning,
                         connect(absl::GetFlag(FLAGS_planning), security::Role::kPlanning));
  GALEN_ASSIGN_OR_RETURN(auto to_execution,
                         connect(absl::GetFlag(FLAGS_execution), security::Role::kExecution));
  GALEN_ASSIGN_OR_RETURN(auto to_reflection,
                         connect(absl::GetFlag(FLAGS_reflection), security::Role::kReflection));
  GALEN_ASSIGN_OR_RETURN(auto to_conclusion,
                         connect(absl::GetFlag(FLAGS_conclusion), security::Role::kConclusion));
  const auto summarization = clients::MakeGrpcSummarizationClient(std::move(to_summarization));
  const auto planning = clients::MakeGrpcPlanningClient(std::move(to_planning));
  // Each call claims the diagnosis that it is for. Execution trusts this program's claim: the
  // tenant is in the log.
  const auto execution = clients::MakeGrpcExecutionClient(
      std::move(to_execution), [&security](const std::string& diagnosis) {
        return (*security)->ClaimFor(diagnosis, security::Role::kExecution);
      });
  const auto reflection = clients::MakeGrpcReflectionClient(std::move(to_reflection));
  const auto conclusion = clients::MakeGrpcConclusionClient(std::move(to_conclusion));
  const SystemClock clock;
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/10'000);
  const node_history::NodeFailureStore failure_store((*store)->records());
  options->on_cause = [&failure_store](const v1::Diagnosis& diagnosis) {
    return failure_store.Note(diagnosis);
  };
  const double bytes_a_day = absl::GetFlag(FLAGS_tenant_bytes_per_day);
  if (bytes_a_day < 0) {
    return absl::InvalidArgumentError("--tenant_bytes_per_day: must be 0 (no limit) or more");
  }
  if (bytes_a_day > 0) {
    options->take_bytes =
        MakeByteQuota((*store)->rates(), clock, bytes_a_day, [](const absl::Status& problem) {
          log::Warning(absl::StrCat("bytes of tenants are not counted: ", problem.message()));
        });
  }
  Orchestrator orchestrator((*store)->events(),
                            {*summarization, *planning, *execution, *reflection, *conclusion},
                            clock, executor, *options);
  if (absl::Status status = orchestrator.Start(); !status.ok()) return status;
  std::optional<RetentionTask> retention;
  if (!retention_policy->IsOff()) {
    retention.emplace((*store)->events(), clock, orchestrator, *retention_policy,
                      (*security)->audit());
  }
  OrchestratorServiceImpl service(orchestrator, executor, (*security)->guard());
  rpc::ServeOptions serve;
  serve.address = absl::GetFlag(FLAGS_listen);
  serve.security = security->get();
  serve.health_address = rpc::HealthAddressFromFlag();
  serve.drain_grace = absl::GetFlag(FLAGS_drain_grace);
  serve.on_drain = [&orchestrator] { orchestrator.EndWatches(); };
  metrics::Registry registry;
  registry.Add(metrics::QueueNumbers("calls", executor));
  registry.Add(orchestrator.metrics());
  const auto metrics_server = service::ServeMetrics(registry);
  if (!metrics_server.ok()) return metrics_server.status();
  return rpc::ServeUntilSignal(serve, {&service});
}

}  // namespace
}  // namespace galen::orchestrator

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.v1.DiagnosisService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  return galen::service::Run("galen-orchestrator", &galen::orchestrator::Serve);
}
