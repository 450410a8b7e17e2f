#include "services/cli/local_mesh.h"

#include <utility>

#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/host/roots.h"
#include "common/knowledge/load.h"
#include "common/logs/scanner.h"
#include "common/reasoner/builtin_reasoner.h"
#include "common/store/sqlite_event_log.h"
#include "services/conclusion/local_client.h"
#include "services/conclusion/report_writer.h"
#include "services/execution/check_runner.h"
#include "services/execution/local_client.h"
#include "services/execution/node_registry.h"
#include "services/node/local_client.h"
#include "services/node/registry.h"
#include "services/planning/local_client.h"
#include "services/planning/planner.h"
#include "services/reflection/local_client.h"
#include "services/reflection/reflector.h"
#include "services/summarization/local_client.h"
#include "services/summarization/summarizer.h"

namespace galen::cli {
namespace {

// Calls that wait for a thread; beyond them a call is refused and the orchestrator tries again.
constexpr std::size_t kMaxQueued = 10'000;

absl::StatusOr<std::vector<std::string>> BundleNodes(const std::string& directory,
                                                     const std::vector<std::string>& roots) {
  GALEN_ASSIGN_OR_RETURN(const std::string path,
                         host::ResolveWithin(directory, roots, "--bundle-root"));
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> bundle,
                         host::Bundle::Open(path));
  return bundle->nodes();
}

}  // namespace

struct LocalMesh::Parts {
  Parts(std::shared_ptr<const knowledge::Knowledge> loaded,
        std::shared_ptr<const logs::Scanner> compiled, std::unique_ptr<store::EventLog> opened,
        const Options& options)
      : knowledge(std::move(loaded)),
        scanner(std::move(compiled)),
        reasoner(*knowledge),
        log(std::move(opened)),
        pool(std::make_unique<ThreadPool>(options.threads, kMaxQueued)),
        node(knowledge, options.roots),
        node_client(node.executor, *pool),
        registry({{node.hosts.name(), &node_client}}, {&node_client}),
        runner(registry, *knowledge, clock, RunnerOptions(options)),
        summarizer(*scanner, reasoner, clock, SummarizerOptions(options)),
        planner(*knowledge, reasoner),
        reflector(*knowledge, reasoner),
        report_writer(*knowledge, reasoner),
        summarization(summarizer, *pool),
        planning(planner, *pool),
        execution(runner, *pool),
        reflection(reflector, *pool),
        conclusion(report_writer, *pool),
        orchestrator(std::make_unique<orchestrator::Orchestrator>(
            *log, orchestrator::Agents{summarization, planning, execution, reflection, conclusion},
            clock, *pool, OrchestratorOptions(options))) {}

  // First who calls, then who is called: what the pool still holds uses what stands above it.
  ~Parts() {
    orchestrator.reset();
    pool.reset();
  }

  static execution::CheckRunner::Options RunnerOptions(const Options& options) {
    execution::CheckRunner::Options runner_options;
    runner_options.bundle_nodes = [roots = options.roots](const std::string& directory) {
      return BundleNodes(directory, roots);
    };
    return runner_options;
  }
  static summarization::Summarizer::Options SummarizerOptions(const Options& options) {
    summarization::Summarizer::Options summarizer_options;
    summarizer_options.roots = options.roots;
    return summarizer_options;
  }
  static orchestrator::Options OrchestratorOptions(const Options& options) {
    orchestrator::Options orchestrator_options;
    orchestrator_options.owner = options.owner;
    orchestrator_options.strategy = options.strategy;
    return orchestrator_options;
  }

  const SystemClock clock;
  const std::shared_ptr<const knowledge::Knowledge> knowledge;
  const std::shared_ptr<const logs::Scanner> scanner;
  const reasoner::BuiltinReasoner reasoner;
  const std::unique_ptr<store::EventLog> log;
  std::unique_ptr<ThreadPool> pool;
  const LocalNode node;
  node::LocalNodeClient node_client;
  const execution::NodeRegistry registry;
  const execution::CheckRunner runner;
  const summarization::Summarizer summarizer;
  const planning::Planner planner;
  const reflection::Reflector reflector;
  const conclusion::ReportWriter report_writer;
  summarization::LocalSummarizationClient summarization;
  planning::LocalPlanningClient planning;
  execution::LocalExecutionClient execution;
  reflection::LocalReflectionClient reflection;
  conclusion::LocalConclusionClient conclusion;
  std::unique_ptr<orchestrator::Orchestrator> orchestrator;
};

absl::StatusOr<std::shared_ptr<const knowledge::Knowledge>> LoadKnowledge(
    const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                         knowledge::FindDirectories(directories));
  knowledge::LoadOptions options;
  options.cache_directory = knowledge::DefaultCacheDirectory();
  return knowledge::Load(found, options);
}

absl::StatusOr<std::shared_ptr<const logs::Scanner>> CompileScanner(
    const knowledge::Knowledge& knowledge) {
  GALEN_ASSIGN_OR_RETURN(
      std::unique_ptr<const logs::Scanner> scanner,
      logs::Scanner::Create(knowledge.base().signals(), knowledge::DefaultCacheDirectory()));
  return scanner;
}

LocalNode::LocalNode(std::shared_ptr<const knowledge::Knowledge> knowledge,
                     std::vector<std::string> bundle_roots)
    : hosts({.name = "", .bundle_roots = std::move(bundle_roots), .bundles_anywhere = true}),
      executor(hosts, std::move(knowledge), node::AllChecks(), node::NodeExecutor::Options()) {}

LocalMesh::LocalMesh(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LocalMesh::~LocalMesh() = default;

absl::StatusOr<std::unique_ptr<LocalMesh>> LocalMesh::Start(const Options& options) {
  std::shared_ptr<const knowledge::Knowledge> knowledge = options.loaded;
  std::shared_ptr<const logs::Scanner> scanner = options.scanner;
  if (knowledge == nullptr) {
    GALEN_ASSIGN_OR_RETURN(knowledge, LoadKnowledge(options.knowledge));
    GALEN_ASSIGN_OR_RETURN(scanner, CompileScanner(*knowledge));
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<store::EventLog> log,
                         store::SqliteEventLog::Open(options.store));
  auto parts =
      std::make_unique<Parts>(std::move(knowledge), std::move(scanner), std::move(log), options);
  GALEN_RETURN_IF_ERROR(parts->orchestrator->Start());
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
  return parts_->orchestrator->SubmitFeedback(request);
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

orchestrator::Orchestrator& LocalMesh::orchestrator() { return *parts_->orchestrator; }
Executor& LocalMesh::executor() { return *parts_->pool; }

}  // namespace galen::cli
