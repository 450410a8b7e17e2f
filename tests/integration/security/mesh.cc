#include "tests/integration/security/mesh.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/knowledge/knowledge.h"
#include "common/rpc/channel.h"
#include "common/rpc/serve.h"
#include "common/store/sqlite_event_log.h"
#include "common/store/store.h"
#include "galen/conclusion/v1/conclusion.grpc.pb.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "galen/planning/v1/planning.grpc.pb.h"
#include "galen/reflection/v1/reflection.grpc.pb.h"
#include "galen/summarization/v1/summarization.grpc.pb.h"
#include "galen/watch/v1/watch.grpc.pb.h"
#include "services/advisor/advisor.h"
#include "services/advisor/advisor_service.h"
#include "services/execution/execution_service.h"
#include "services/execution/node_directory.h"
#include "services/orchestrator/orchestrator_service.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::testing {

using security::Role;

struct SecureMesh::Parts {
  explicit Parts(SecureMesh& mesh)
      : orchestrator(*log, world.agents(), clock, executor, orchestrator::Options()),
        diagnoses(orchestrator, executor, mesh.Of(Role::kOrchestrator).guard()),
        registry({}, {}),
        runner(registry,
               HotSwap<knowledge::Knowledge>(
                   std::make_shared<const knowledge::Knowledge>(knowledge::v1::KnowledgeBase())),
               clock, {}),
        watch(registry, clock, execution::NodeWatch::Options()),
        checks(runner, watch, executor, mesh.Of(Role::kExecution).guard(), &node_directory,
               &dry_runs),
        advisor(warner, executor, mesh.Of(Role::kAdvisor).guard()) {
    EXPECT_THAT(orchestrator.Start(), IsOk());
    Serve(mesh, Role::kOrchestrator, diagnoses, "galen.v1.DiagnosisService");
    Serve(mesh, Role::kExecution, checks, "galen.execution.v1.ExecutionService");
    Serve(mesh, Role::kSummarization, summarization, "galen.summarization.v1.SummarizationService");
    Serve(mesh, Role::kPlanning, planning, "galen.planning.v1.PlanningService");
    Serve(mesh, Role::kReflection, reflection, "galen.reflection.v1.ReflectionService");
    Serve(mesh, Role::kConclusion, conclusion, "galen.conclusion.v1.ConclusionService");
    Serve(mesh, Role::kNode, node, "galen.node.v1.NodeService");
    Serve(mesh, Role::kWatch, health, "galen.watch.v1.WatchService");
    Serve(mesh, Role::kAdvisor, advisor, "galen.advisor.v1.AdvisorService");
  }
  ~Parts() {
    for (const auto& [name, server] : servers) server.server->Shutdown();
  }

  struct Server {
    Role role;
    std::string address;
    std::unique_ptr<grpc::Server> server;
  };
  void Serve(SecureMesh& mesh, Role role, grpc::Service& service, const std::string& name) {
    int port = 0;
    auto started =
        rpc::StartServer({.address = "127.0.0.1:0", .security = &mesh.Of(role)}, {&service}, port);
    ASSERT_THAT(started, IsOk());
    servers[name] = {role, absl::StrCat("127.0.0.1:", port), *std::move(started)};
  }

  const SystemClock clock;
  const std::unique_ptr<store::EventLog> log = store::SqliteEventLog::Open(":memory:").value();
  orchestrator::FakeAgents world;
  ThreadPool executor{/*threads=*/2, /*max_queued=*/1000};
  orchestrator::Orchestrator orchestrator;
  orchestrator::OrchestratorServiceImpl diagnoses;
  const execution::NodeRegistry registry;
  const execution::CheckRunner runner;
  execution::NodeWatch watch;
  const std::unique_ptr<store::Store> store = store::OpenStore(":memory:").value();
  execution::NodeDirectory node_directory{store->nodes(), clock, {}};
  execution::DryRuns dry_runs{{}, clock, nullptr, nullptr, nullptr, {}};
  execution::ExecutionServiceImpl checks;
  summarization::v1::SummarizationService::CallbackService summarization;
  planning::v1::PlanningService::CallbackService planning;
  reflection::v1::ReflectionService::CallbackService reflection;
  conclusion::v1::ConclusionService::CallbackService conclusion;
  node::v1::NodeService::CallbackService node;
  watch::v1::WatchService::CallbackService health;
  const std::shared_ptr<const advisor::AdvisorKnowledge> book =
      std::make_shared<const advisor::AdvisorKnowledge>(
          advisor::AdvisorKnowledge{advisor::KnownMismatches::Parse("", "").value(),
                                    advisor::BuildUpSigns::Parse("", "").value()});
  advisor::Advisor warner{*store, HotSwap<advisor::AdvisorKnowledge>(book), clock, {}};
  advisor::AdvisorServiceImpl advisor;
  std::map<std::string, Server> servers;  // by service
};

SecureMesh::SecureMesh(const std::string& audit_log) {
  for (const Role role : security::AllRoles()) {
    rpc::SecurityOptions options;
    options.role = role;
    options.directory = directory_.path();
    options.audit_log = audit_log;
    options.tell = [](const std::string&) {};
    securities_[role] = rpc::Security::Open(options).value();
  }
  parts_ = std::make_unique<Parts>(*this);
}

SecureMesh::~SecureMesh() {
  channels_.clear();
  parts_.reset();
}

namespace {
// "galen.v1.DiagnosisService" of "/galen.v1.DiagnosisService/GetDiagnosis".
std::string ServiceOf(const std::string& method) { return method.substr(1, method.rfind('/') - 1); }
}  // namespace

std::string SecureMesh::ServerOf(const std::string& method) const {
  const auto found = parts_->servers.find(ServiceOf(method));
  return found == parts_->servers.end() ? "" : found->second.address;
}

Role SecureMesh::RoleOf(const std::string& method) const {
  return parts_->servers.at(ServiceOf(method)).role;
}

std::shared_ptr<grpc::Channel> SecureMesh::ChannelOf(Role caller, const std::string& method) {
  std::shared_ptr<grpc::Channel>& channel = channels_[{caller, ServiceOf(method)}];
  if (channel == nullptr) {
    channel = rpc::Connect(ServerOf(method), Of(caller), {RoleOf(method)}).value();
  }
  return channel;
}

const rpc::Security& SecureMesh::Of(Role role) { return *securities_.at(role); }

}  // namespace galen::testing
