#include "common/rpc/tenant_guard.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/authorizer.h"
#include "common/security/claims/claim.h"
#include "common/security/identity.h"

namespace galen::rpc {

absl::Status TenantGuard::Check(const grpc::CallbackServerContext& context,
                                absl::string_view resource) {
  const auto [first, last] = context.client_metadata().equal_range(security::kClaimKey);
  if (first == last) {
    if (resource.empty()) {
      grpc::string_ref uri;
      const auto connection = context.auth_context();
      const std::optional<security::Identity> peer = PeerOf(*connection, uri);
      if (peer.has_value() && peer->role == security::Role::kOperator) return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        absl::StrCat("\"", resource, "\": the call carries no claim of a tenant"));
  }
  if (std::next(first) != last) {
    return absl::PermissionDeniedError("the call carries more than one claim of a tenant");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string tenant,
                         verifier_.TenantOf({first->second.data(), first->second.size()}));
  if (tenant.empty() || security::TenantOf(resource) != tenant) {
    // Says nothing of whether there is such a thing.
    return absl::PermissionDeniedError(absl::StrCat(
        "\"", resource, "\": the call carries the claim of another tenant, \"", tenant, "\""));
  }
  return absl::OkStatus();
}

}  // namespace galen::rpc
