#include "common/security/policy.h"

namespace galen::security {
namespace {

// Entry points of the mesh: programs that act for tenants, or watch their machines.
constexpr Roles kEntries = {Role::kGateway, Role::kOperator, Role::kWatch};
// Programs that act for a person.
constexpr Roles kPeople = {Role::kGateway, Role::kOperator};
constexpr Roles kOrchestrator = {Role::kOrchestrator};
constexpr Roles kExecution = {Role::kExecution};
constexpr Roles kNode = {Role::kNode};

constexpr MethodRule kTable[] = {
    {"/galen.v1.DiagnosisService/CreateDiagnosis", kEntries, "parent"},
    {"/galen.v1.DiagnosisService/GetDiagnosis", kEntries, "name"},
    {"/galen.v1.DiagnosisService/ListDiagnoses", kEntries, "parent"},
    {"/galen.v1.DiagnosisService/WatchDiagnosis", kEntries, "name"},
    {"/galen.v1.DiagnosisService/CancelDiagnosis", kPeople, "name"},
    {"/galen.v1.DiagnosisService/SubmitFeedback", kPeople, "name"},
    {"/galen.v1.DiagnosisService/EscalateDiagnosis", kPeople, "name"},
    {"/galen.v1.DiagnosisService/DeleteDiagnosis", kPeople, "name"},

    {"/galen.summarization.v1.SummarizationService/Summarize", kOrchestrator},
    {"/galen.summarization.v1.SummarizationService/Look", kOrchestrator},
    {"/galen.planning.v1.PlanningService/ProposeFromHistory", kOrchestrator},
    {"/galen.planning.v1.PlanningService/RankChildren", kOrchestrator},
    {"/galen.planning.v1.PlanningService/Screen", kOrchestrator},
    {"/galen.planning.v1.PlanningService/ProposeAtOnce", kOrchestrator},
    {"/galen.planning.v1.PlanningService/ListCauses", kOrchestrator},
    {"/galen.planning.v1.PlanningService/Explore", kOrchestrator},
    {"/galen.planning.v1.PlanningService/Consult", kOrchestrator},
    {"/galen.reflection.v1.ReflectionService/Judge", kOrchestrator},
    {"/galen.reflection.v1.ReflectionService/Critique", kOrchestrator},
    {"/galen.reflection.v1.ReflectionService/Investigate", kOrchestrator},
    {"/galen.conclusion.v1.ConclusionService/Conclude", kOrchestrator},

    // An operator may run checks by hand, without a diagnosis and then without a claim. The gateway
    // does it for a tenant (galen.v1.CheckService).
    {"/galen.execution.v1.ExecutionService/ResolveNodes",
     {Role::kOrchestrator, Role::kOperator, Role::kGateway},
     "diagnosis"},
    {"/galen.execution.v1.ExecutionService/RunChecks",
     {Role::kOrchestrator, Role::kOperator, Role::kGateway},
     "diagnosis"},
    // Reads only; for people who approve repairs.
    {"/galen.execution.v1.ExecutionService/DryRunRepair", kPeople, "diagnosis"},
    {"/galen.watch.v1.WatchService/ReportHealth", kPeople},

    // Reports about a tenant's job carry its claim; finished runs are the provider's own records.
    {"/galen.advisor.v1.AdvisorService/RegisterJob", kEntries, "parent"},
    {"/galen.advisor.v1.AdvisorService/ReportProgress", kEntries, "job"},
    {"/galen.advisor.v1.AdvisorService/ReportTest", kEntries, "job"},
    {"/galen.advisor.v1.AdvisorService/ReportRuns", {Role::kOperator, Role::kWatch}},
    {"/galen.advisor.v1.AdvisorService/Learn", {Role::kOperator, Role::kWatch}},
    {"/galen.advisor.v1.AdvisorService/ListPatterns", {Role::kOperator, Role::kWatch}},
    // A person's decision.
    {"/galen.advisor.v1.AdvisorService/RevokePattern", {Role::kOperator}},
    {"/galen.advisor.v1.AdvisorService/RestorePattern", {Role::kOperator}},

    {"/galen.execution.v1.ExecutionService/WatchNodes", {Role::kOperator, Role::kWatch}},
    // The replica that was called has held the claim against the request.
    {"/galen.execution.v1.ExecutionService/RunShare", kExecution},
    {"/galen.execution.v1.ExecutionService/RegisterNode", kNode},
    {"/galen.execution.v1.ExecutionService/WithdrawNode", kNode},

    {"/galen.node.v1.NodeService/RunChecks", kExecution},
    {"/galen.node.v1.NodeService/Watch", kExecution},
    {"/galen.node.v1.NodeService/Describe", kExecution},
    // (The bearer does not matter: the executor verifies the warrant of the person who approved
    // it.)
    {"/galen.node.v1.NodeService/Repair", kExecution},

    {"/grpc.health.v1.Health/Check", Roles::All()},
    {"/grpc.health.v1.Health/Watch", Roles::All()},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {Role::kOperator}},
};

}  // namespace

absl::Span<const MethodRule> PolicyTable() { return kTable; }

Roles ClaimIssuers(Role audience) {
  switch (audience) {
    case Role::kOrchestrator:
    case Role::kAdvisor:
      return kEntries;
    case Role::kExecution:
      return {Role::kOrchestrator, Role::kOperator, Role::kGateway};
    default:
      return {};
  }
}

}  // namespace galen::security
