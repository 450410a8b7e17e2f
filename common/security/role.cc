#include "common/security/role.h"

namespace galen::security {
namespace {

constexpr Role kAll[] = {Role::kGateway,    Role::kOrchestrator, Role::kSummarization,
                         Role::kPlanning,   Role::kExecution,    Role::kNode,
                         Role::kReflection, Role::kConclusion,   Role::kWatch,
                         Role::kAdvisor,    Role::kOperator,     Role::kMetrics};

}  // namespace

absl::Span<const Role> AllRoles() { return kAll; }

absl::string_view NameOf(Role role) {
  switch (role) {
    case Role::kGateway:
      return "gateway";
    case Role::kOrchestrator:
      return "orchestrator";
    case Role::kSummarization:
      return "summarization";
    case Role::kPlanning:
      return "planning";
    case Role::kExecution:
      return "execution";
    case Role::kNode:
      return "node";
    case Role::kReflection:
      return "reflection";
    case Role::kConclusion:
      return "conclusion";
    case Role::kWatch:
      return "watch";
    case Role::kAdvisor:
      return "advisor";
    case Role::kOperator:
      return "operator";
    case Role::kMetrics:
      return "metrics";
  }
  return "";
}

std::optional<Role> ParseRole(absl::string_view name) {
  for (const Role role : kAll) {
    if (NameOf(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace galen::security
