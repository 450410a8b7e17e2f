#ifndef SERVICES_GATEWAY_API_ADMISSION_H_
#define SERVICES_GATEWAY_API_ADMISSION_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/api/access.h"
#include "services/gateway/http/message.h"

namespace galen::gateway {

// The resource of a request, and the permission that the request needs.
struct Admission {
  std::string resource;  // "tenants/t/..."
  absl::string_view scope = kScopeRead;
  bool starts = false;  // a diagnosis, which has a limit of its own
};

// Decides whether a request may be made: its key is known, has the scope, may see the tenant, and
// is within the tenant's limits. `done` gets the client, once, on any thread, or an error.
// UNAUTHENTICATED: the key; PERMISSION_DENIED: the scope; NOT_FOUND: the tenant, whether it exists
// or not; RESOURCE_EXHAUSTED: the limits. The remaining allowance is put into `headers`, which must
// live until then.
void Admit(Access& access, RateLimiter& rates, const http::Request& request,
           const Admission& wanted, http::Headers& headers,
           absl::AnyInvocable<void(absl::StatusOr<Principal>) &&> done);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_ADMISSION_H_
