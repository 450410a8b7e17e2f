#ifndef COMMON_RPC_TENANT_GUARD_H_
#define COMMON_RPC_TENANT_GUARD_H_

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/security/certificates/credentials.h"
#include "common/security/claims/verifier.h"
#include "common/security/role.h"

namespace galen::rpc {

// Holds what a request names against the tenant's claim that came with the call. Asked by the
// services that act for tenants, in each of their methods whose line in the policy has a
// `tenant_field`, with that field. Thread-safe.
class TenantGuard {
 public:
  TenantGuard(const Clock& clock, security::Role audience) : verifier_(clock, audience) {}

  // Replaces the trusted authority and trust domain.
  absl::Status Use(const security::Credentials& credentials) { return verifier_.Use(credentials); }

  // `resource` is "tenants/t" or a name below it. PERMISSION_DENIED unless the call carries exactly
  // one claim, valid, of that tenant and of the asker that the call names. An operator may also
  // make calls that name no resource, and then needs no claim.
  absl::Status Check(const grpc::CallbackServerContext& context, absl::string_view resource);

 private:
  security::ClaimVerifier verifier_;
};

// The same if tenants are checked, and OK if not: `guard` is null in a mesh of one process, and on
// loopback without TLS.
inline absl::Status CheckTenant(TenantGuard* guard, const grpc::CallbackServerContext& context,
                                absl::string_view resource) {
  return guard == nullptr ? absl::OkStatus() : guard->Check(context, resource);
}

}  // namespace galen::rpc

#endif  // COMMON_RPC_TENANT_GUARD_H_
