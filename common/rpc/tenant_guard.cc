#include "common/rpc/tenant_guard.h"

#include <grpc/grpc_security_constants.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/authorizer.h"
#include "common/security/claims/claim.h"
#include "common/security/identity.h"

namespace galen::rpc {
namespace {

// The certificates that the peer showed when it connected, PEM, its own first. In a server gRPC's
// chain lacks that one.
std::string CertificatesOf(const grpc::AuthContext& connection) {
  std::string pem;
  for (const char* property :
       {GRPC_X509_PEM_CERT_PROPERTY_NAME, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME}) {
    for (const grpc::string_ref& text : connection.FindPropertyValues(property)) {
      pem.append(text.data(), text.size());
    }
  }
  return pem;
}

}  // namespace

absl::Status TenantGuard::Check(const grpc::CallbackServerContext& context,
                                absl::string_view resource) {
  grpc::string_ref uri;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  const std::optional<security::Identity> peer = PeerOf(*connection, uri);
  const auto [first, last] = context.client_metadata().equal_range(security::kClaimKey);
  if (first == last) {
    if (resource.empty() && peer.has_value() && peer->role == security::Role::kOperator) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        absl::StrCat("\"", resource, "\": the call carries no claim of a tenant"));
  }
  if (std::next(first) != last) {
    return absl::PermissionDeniedError("the call carries more than one claim of a tenant");
  }
  const auto certificates = [&connection] { return CertificatesOf(*connection); };
  GALEN_ASSIGN_OR_RETURN(const security::ClaimVerifier::Accepted claim,
                         verifier_.Accept({first->second.data(), first->second.size()},
                                          {{uri.data(), uri.size()}, certificates}));
  const std::string& tenant = claim.tenant;
  // (An accepted claim is signed by the peer, so there is one.)
  if (!peer.has_value() || AskerOf(peer->role, context.client_metadata()) != claim.asker) {
    return absl::PermissionDeniedError(
        "the call names another asker than its claim: the audit log would name the wrong one");
  }
  if (tenant.empty() || security::TenantOf(resource) != tenant) {
    // Says nothing of whether there is such a thing.
    return absl::PermissionDeniedError(absl::StrCat(
        "\"", resource, "\": the call carries the claim of another tenant, \"", tenant, "\""));
  }
  return absl::OkStatus();
}

}  // namespace galen::rpc
