#include "services/cli/local_mesh.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/cancellation.h"
#include "common/base/cause_in_words.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/curation/confirmed.h"
#include "common/curation/proposal_store.h"
#include "common/host/roots.h"
#include "common/intake/pasted_evidence_store.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/node_history/node_failure_store.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/observability/trace/trace.h"
#include "common/reasoner/counted_reasoner.h"
#include "common/reasoner/llm/reasoned.h"
#include "common/reasoner/site_history.h"
#include "common/store/store.h"
#include "services/cli/gather.h"
#include "services/cli/mesh_telemetry.h"
#include "services/conclusion/local_client.h"
#include "services/conclusion/report_writer.h"
#include "services/execution/check_runner.h"
#include "services/execution/history_checks.h"
#include "services/execution/local_client.h"
#include "services/execution/node_registry.h"
#include "services/execution/telemetry_checks.h"
#include "services/node/local_client.h"
#include "services/node/registry.h"
#include "services/planning/local_client.h"
#include "services/planning/planner.h"
#include "services/reflection/local_client.h"
#include "services/reflection/reflector.h"
#include "services/summarization/local_client.h"
#include "services/summarization/make_summarizer.h"
#include "services/summarization/summarizer.h"

namespace galen::cli {
namespace {

// Calls that wait for a thread; beyond them a call is refused and the orchestrator tries again.
constexpr std::size_t kMaxQueued = 10'000;
// Questions that wait for a model at the same time, each on a thread of its own.
constexpr int kAsking = 32;

}  // namespace

// The parts that depend on the knowledge: made together, replaced together, and kept until nobody
// uses them.
struct LocalMesh::Minds {
  Minds(std::shared_ptr<const knowledge::Knowledge> loaded,
        std::shared_ptr<const log_scan::Scanner> compiled, const Clock& clock,
        const Options& options, const std::optional<reasoner::llm::Model>& model,
        const incident_history::Store* confirmed)
      : knowledge(std::move(loaded)),
        scanner(std::move(compiled)),
        reasoners(*knowledge, model, confirmed),
        summarizer(*scanner, reasoners.best(), clock,
                   {.roots = options.roots,
                    .words = options.words,
                    .survived = std::make_shared<const summarization::Survived>(
                        triage::SignaturesOf(*knowledge))}),
        planner(*knowledge, reasoners.best(), options.playbooks),
        reflector(*knowledge, reasoners.best()),
        report_writer(*knowledge, reasoners.best()) {}

  const std::shared_ptr<const knowledge::Knowledge> knowledge;
  const std::shared_ptr<const log_scan::Scanner> scanner;
  const reasoner::llm::Reasoners reasoners;
  const summarization::Summarizer summarizer;
  const planning::Planner planner;
  const reflection::Reflector reflector;
  const conclusion::ReportWriter report_writer;
};

struct LocalMesh::Parts {
  using SharedMinds = std::shared_ptr<const Minds>;

  Parts(std::shared_ptr<const knowledge::Knowledge> loaded,
        std::shared_ptr<const log_scan::Scanner> compiled, std::unique_ptr<store::Store> opened,
        std::unique_ptr<const reasoner::SiteHistory> past,
        std::optional<execution::TelemetryChecks::Options> measuring,
        std::shared_ptr<const intake::PastedEvidenceStore> evidence_store, const Options& given)
      : options(given),
        history(std::move(past)),
        model(CancelledBy(closing, given.model)),
        minds(std::make_shared<const Minds>(std::move(loaded), std::move(compiled), clock, given,
                                            model, Confirmed())),
        knowledge(minds->knowledge),
        summarizer(Part(minds, minds->summarizer)),
        planner(Part(minds, minds->planner)),
        reflector(Part(minds, minds->reflector)),
        report_writer(Part(minds, minds->report_writer)),
        store(std::move(opened)),
        pool(std::make_unique<ThreadPool>(options.threads, kMaxQueued)),
        asking(model.has_value() ? std::make_unique<ThreadPool>(kAsking, kMaxQueued) : nullptr),
        node(minds->knowledge, options.roots, options.job_logs),
        node_client(node.executor, *pool),
        registry(options.live_nodes.value_or(std::map<std::string, clients::NodeClient*>{
                     {node.hosts.name(), &node_client}}),
                 {&node_client}),
        telemetry(measuring.has_value()
                      ? std::make_unique<execution::TelemetryChecks>(*std::move(measuring), clock)
                      : nullptr),
        failure_store(store->records()),
        failures_before(std::make_unique<execution::HistoryChecks>(failure_store, clock)),
        runner(registry, knowledge, clock,
               RunnerOptions(options, node, *pool, telemetry.get(), failures_before.get())),
        summarization(summarizer, Asking()),
        planning(planner, Asking()),
        execution(runner, *pool),
        reflection(reflector, Asking()),
        conclusion(report_writer, Asking()),
        orchestrator(std::make_unique<orchestrator::Orchestrator>(
            store->events(),
            orchestrator::Agents{summarization, planning, execution, reflection, conclusion}, clock,
            *pool, OrchestratorOptions(options, failure_store, std::move(evidence_store), clock))) {
    minds.reset();  // those who use them keep them
  }

  // A part of the whole that keeps the whole.
  template <typename T>
  static std::shared_ptr<const T> Part(const SharedMinds& whole, const T& part) {
    return {whole, &part};
  }

  // The nodes first: what is planned with new knowledge can be run. Calls in flight, and the
  // questions of a running diagnosis, end with what they began with.
  absl::Status Use(std::shared_ptr<const knowledge::Knowledge> loaded) {
    GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const log_scan::Scanner> compiled,
                           CompileScanner(*loaded));
    const auto newer = std::make_shared<const Minds>(loaded, std::move(compiled), clock, options,
                                                     model, Confirmed());
    node.executor.Use(loaded);
    knowledge.Set(std::move(loaded));
    summarizer.Set(Part(newer, newer->summarizer));
    planner.Set(Part(newer, newer->planner));
    reflector.Set(Part(newer, newer->reflector));
    report_writer.Set(Part(newer, newer->report_writer));
    return absl::OkStatus();
  }

  // Callers end before the parts they call: tasks still in the pool use the members above it.
  ~Parts() {
    reloader.reset();
    orchestrator.reset();
    closing.Cancel();
    telemetry.reset();
    failures_before.reset();
    asking.reset();
    pool.reset();
  }

  // The model, with calls that end when the mesh does.
  static std::optional<reasoner::llm::Model> CancelledBy(
      const Cancellation& closing, std::optional<reasoner::llm::Model> model) {
    if (model.has_value()) model->cancellation = &closing;
    return model;
  }
  // Null without a history of the site.
  const incident_history::Store* Confirmed() const {
    return history == nullptr ? nullptr : &history->store();
  }
  // The threads on which agents answer.
  ThreadPool& Asking() { return asking == nullptr ? *pool : *asking; }

  // The bundle is opened once for all calls of a diagnosis: by the node that its checks run on. The
  // question for its nodes begins a diagnosis, so its logs are read ahead for the checks.
  static execution::CheckRunner::Options RunnerOptions(const Options& options,
                                                       const LocalNode& node, ThreadPool& pool,
                                                       execution::TelemetryChecks* telemetry,
                                                       execution::HistoryChecks* history) {
    execution::CheckRunner::Options runner_options;
    runner_options.telemetry = telemetry;
    runner_options.history = history;
    runner_options.nodes_from_telemetry = !options.prometheus.empty();
    runner_options.bundle_nodes =
        [roots = options.roots, &node,
         &pool](const std::string& directory) -> absl::StatusOr<std::vector<std::string>> {
      GALEN_ASSIGN_OR_RETURN(const std::string path,
                             host::ResolveWithin(directory, roots, "--bundle-root"));
      GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> bundle,
                             node.hosts.OpenBundle(path));
      if (!bundle->nodes().empty()) {
        // Without a free thread it is read when the first check asks.
        static_cast<void>(pool.TrySchedule([&node, path, bundle] {
          const v1::Incident& incident = bundle->incident();
          node.executor.ReadAhead(
              path, bundle->nodes().front(),
              incident.has_end_time() ? ToTime(incident.end_time()) : absl::InfiniteFuture());
        }));
      }
      return bundle->nodes();
    };
    return runner_options;
  }
  static orchestrator::Options OrchestratorOptions(
      const Options& options, const node_history::NodeFailureStore& failure_store,
      std::shared_ptr<const intake::PastedEvidenceStore> evidence_store, const Clock& clock) {
    orchestrator::Options orchestrator_options;
    if (evidence_store != nullptr) {
      orchestrator_options.take_evidence = [evidence_store, &clock](const v1::Incident& incident,
                                                                    const std::string& id) {
        return evidence_store->Take(incident, id, clock.Now());
      };
      orchestrator_options.add_evidence = [evidence_store, &clock](const std::string& base,
                                                                   const v1::Incident& incident,
                                                                   const std::string& id) {
        return evidence_store->AddTo(base, incident, id, clock.Now());
      };
    }
    if (options.named_logs != nullptr && evidence_store != nullptr) {
      orchestrator_options.fetch_logs = [named = options.named_logs, &clock](const auto& parent,
                                                                             const auto& incident) {
        return named->Fetch(parent, incident, clock.Now());
      };
    }
    orchestrator_options.on_cause = [&failure_store](const v1::Diagnosis& diagnosis) {
      return failure_store.Note(diagnosis);
    };
    orchestrator_options.owner = options.owner;
    orchestrator_options.strategy = options.strategy;
    orchestrator_options.tests = options.tests;
    if (options.log) {
      orchestrator_options.on_lifecycle_event = [](absl::string_view news) { log::Info(news); };
      orchestrator_options.on_problem = [](absl::string_view diagnosis,
                                           const absl::Status& problem) {
        const trace::Scope scope({trace::Current().context, std::string(diagnosis)});
        log::Warning(problem.message());
      };
    }
    if (!options.site.empty()) {
      orchestrator_options.on_confirmed =
          [site = options.site](const v1::Diagnosis& diagnosis) -> absl::Status {
        GALEN_ASSIGN_OR_RETURN(const curation::Proposal proposal, curation::ProposalOf(diagnosis));
        return curation::ProposalStore({site}).Propose(proposal).status();
      };
    }
    return orchestrator_options;
  }

  const SystemClock clock;
  const Options options;
  const std::unique_ptr<const reasoner::SiteHistory> history;
  Cancellation closing;
  const std::optional<reasoner::llm::Model> model;
  SharedMinds minds;  // the first ones, during construction
  HotSwap<knowledge::Knowledge> knowledge;
  HotSwap<summarization::Summarizer> summarizer;
  HotSwap<planning::Planner> planner;
  HotSwap<reflection::Reflector> reflector;
  HotSwap<conclusion::ReportWriter> report_writer;
  const std::unique_ptr<store::Store> store;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ThreadPool> asking;  // null: `pool` does
  LocalNode node;
  node::LocalNodeClient node_client;
  const execution::NodeRegistry registry;
  std::unique_ptr<execution::TelemetryChecks> telemetry;
  const node_history::NodeFailureStore failure_store;
  std::unique_ptr<execution::HistoryChecks> failures_before;
  const execution::CheckRunner runner;
  summarization::LocalSummarizationClient summarization;
  planning::LocalPlanningClient planning;
  execution::LocalExecutionClient execution;
  reflection::LocalReflectionClient reflection;
  conclusion::LocalConclusionClient conclusion;
  std::unique_ptr<orchestrator::Orchestrator> orchestrator;
  std::unique_ptr<knowledge::Reloader> reloader;
};

std::string OwnerIn(const std::string& store, const std::string& name, const std::string& what) {
  if (!store::IsSharedStore(store)) return name;
  return absl::StrCat(name, ":", OwnHostName(), ":", what);
}

absl::StatusOr<std::shared_ptr<const knowledge::Knowledge>> LoadKnowledge(
    const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                         knowledge::FindDirectories(directories));
  knowledge::LoadOptions options;
  options.cache_directory = knowledge::DefaultCacheDirectory();
  return knowledge::Load(found, options);
}

absl::StatusOr<std::shared_ptr<const phrases::OutcomeWords>> LoadOutcomeWords(
    const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                         knowledge::FindDirectories(directories));
  return phrases::OutcomeWords::Load(found);
}

absl::StatusOr<std::shared_ptr<const log_scan::Scanner>> CompileScanner(
    const knowledge::Knowledge& knowledge) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<const log_scan::Scanner> scanner,
                         summarization::MakeScanner(knowledge, knowledge::DefaultCacheDirectory()));
  return scanner;
}

LocalNode::LocalNode(std::shared_ptr<const knowledge::Knowledge> knowledge,
                     std::vector<std::string> bundle_roots, std::vector<std::string> job_logs)
    : hosts({.name = "",
             .bundle_roots = std::move(bundle_roots),
             .bundles_anywhere = true,
             .job_pid_file = "",
             .job_logs = std::move(job_logs)}),
      executor(hosts, std::move(knowledge), node::AllChecks(), node::NodeExecutor::Options()) {}

absl::Status LocalMesh::Options::Load() {
  GALEN_ASSIGN_OR_RETURN(loaded, LoadKnowledge(knowledge));
  GALEN_ASSIGN_OR_RETURN(scanner, CompileScanner(*loaded));
  GALEN_ASSIGN_OR_RETURN(words, LoadOutcomeWords(knowledge));
  return absl::OkStatus();
}

LocalMesh::LocalMesh(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LocalMesh::~LocalMesh() = default;

absl::StatusOr<std::unique_ptr<LocalMesh>> LocalMesh::Start(const Options& given) {
  Options options = given;
  if (options.loaded == nullptr) GALEN_RETURN_IF_ERROR(options.Load());
  if (options.model.has_value() && options.playbooks == nullptr) {
    GALEN_ASSIGN_OR_RETURN(const auto found, knowledge::FindDirectories(options.knowledge));
    GALEN_ASSIGN_OR_RETURN(options.playbooks, planning::PlaybookTexts::Load(found));
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<store::Store> opened, store::OpenStore(options.store));
  std::unique_ptr<const reasoner::SiteHistory> history;
  if (!options.history.empty()) {
    GALEN_ASSIGN_OR_RETURN(history, reasoner::SiteHistory::Open(options.history));
  }
  for (const std::string& warning : opened->warnings()) {
    if (options.tell) options.tell(absl::StrCat(opened->Describe(), ": ", warning));
  }
  std::shared_ptr<const intake::PastedEvidenceStore> evidence_store;
  if (!options.evidence.empty()) {
    GALEN_ASSIGN_OR_RETURN(auto kinds, intake::Kinds::Compile(options.loaded->base()));
    evidence_store =
        std::make_shared<const intake::PastedEvidenceStore>(options.evidence, std::move(kinds));
    if (!options.roots.empty()) options.roots.push_back(options.evidence);
  }
  GALEN_ASSIGN_OR_RETURN(auto measuring, TelemetryOf(options));
  // The parts keep the options, and must not keep this version of the knowledge with them.
  std::shared_ptr<const knowledge::Knowledge> first = std::move(options.loaded);
  std::shared_ptr<const log_scan::Scanner> scanner = std::move(options.scanner);
  auto parts = std::make_unique<Parts>(std::move(first), std::move(scanner), std::move(opened),
                                       std::move(history), std::move(measuring),
                                       std::move(evidence_store), options);
  GALEN_RETURN_IF_ERROR(parts->orchestrator->Start());
  if (options.reload && given.loaded == nullptr) {
    GALEN_ASSIGN_OR_RETURN(std::vector<std::string> directories,
                           knowledge::FindDirectories(options.knowledge));
    knowledge::ReloadOptions reload;
    reload.directories = std::move(directories);
    reload.cache_directory = knowledge::DefaultCacheDirectory();
    reload.apply = [&used = *parts](std::shared_ptr<const knowledge::Knowledge> loaded) {
      return used.Use(std::move(loaded));
    };
    reload.tell = options.tell;
    parts->reloader =
        std::make_unique<knowledge::Reloader>(std::move(reload), *parts->knowledge.Get());
    parts->reloader->Start();
  }
  return std::unique_ptr<LocalMesh>(new LocalMesh(std::move(parts)));
}

absl::StatusOr<v1::Diagnosis> LocalMesh::Create(const v1::CreateDiagnosisRequest& request) {
  return parts_->orchestrator->Create(request);
}

absl::StatusOr<v1::Diagnosis> LocalMesh::Get(const std::string& name) {
  v1::GetDiagnosisRequest request;
  request.set_name(name);
  return parts_->orchestrator->Get(request);
}

absl::StatusOr<v1::Diagnosis> LocalMesh::SubmitFeedback(const v1::SubmitFeedbackRequest& request) {
  if (!request.confirmed_label().empty() && request.confirmed_label() != kCauseInWords) {
    const std::shared_ptr<const knowledge::Knowledge> book = parts_->knowledge.Get();
    const knowledge::v1::Label* label = book->FindLabel(request.confirmed_label());
    if (label == nullptr || !knowledge::IsLeaf(*label)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "confirmed_label: ", request.confirmed_label(),
          " is not a cause of the taxonomy; `galen kb search` finds its name, `galen kb "
          "add-label` adds one"));
    }
  }
  return parts_->orchestrator->SubmitFeedback(request);
}

absl::StatusOr<v1::ListDiagnosesResponse> LocalMesh::List(const v1::ListDiagnosesRequest& request) {
  return parts_->orchestrator->List(request);
}

absl::StatusOr<v1::Diagnosis> LocalMesh::Escalate(const v1::EscalateDiagnosisRequest& request) {
  return parts_->orchestrator->Escalate(request);
}

absl::Status LocalMesh::Delete(const std::string& name) {
  v1::DeleteDiagnosisRequest request;
  request.set_name(name);
  return parts_->orchestrator->Delete(request).status();
}

absl::Status LocalMesh::Watch(const std::string& name, std::int64_t after_sequence,
                              const std::function<void(const v1::DiagnosisEvent&)>& on_event) {
  v1::WatchDiagnosisRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  return parts_->orchestrator->Watch(request, [&](const v1::DiagnosisEvent& event) {
    on_event(event);
    return true;
  });
}

absl::Status LocalMesh::Use(std::shared_ptr<const knowledge::Knowledge> knowledge) {
  return parts_->Use(std::move(knowledge));
}

void LocalMesh::Reload() {
  if (parts_->reloader != nullptr) parts_->reloader->Reload();
}

void LocalMesh::AddMetrics(metrics::Registry& registry) const {
  registry.Add(metrics::QueueNumbers("calls", *parts_->pool));
  if (parts_->asking != nullptr) registry.Add(metrics::QueueNumbers("asking", *parts_->asking));
  registry.Add(parts_->orchestrator->metrics());
  registry.Add(parts_->runner.metrics());
  registry.Add(parts_->node.executor.metrics());
  registry.Add(reasoner::ProcessReasonerMetrics());
}

orchestrator::Orchestrator& LocalMesh::orchestrator() { return *parts_->orchestrator; }
Executor& LocalMesh::executor() { return *parts_->pool; }

}  // namespace galen::cli
