#ifndef SERVICES_GATEWAY_API_ACCESS_H_
#define SERVICES_GATEWAY_API_ACCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/gateway/http/message.h"

// The client of a request and its permissions, as far as the API needs them;
// services/gateway/access derives them from API keys.
namespace galen::gateway {

// In ascending order: each may do what those before it may.
enum class UserRole : std::uint8_t { kCustomer, kOperator, kApprover, kAdmin };
absl::string_view NameOf(UserRole role);
std::optional<UserRole> ParseUserRole(absl::string_view name);

// Whether the text is a valid tenant name: 1 to 63 of a-z, 0-9 and "-".
bool IsTenant(absl::string_view text);

// Scopes of a credential.
inline constexpr absl::string_view kScopeRead = "diagnoses.read";
inline constexpr absl::string_view kScopeWrite = "diagnoses.write";

// The authenticated client.
struct Principal {
  std::string id;      // of the credential, for logs: no secret
  std::string tenant;  // "*": any; not for customers
  UserRole role = UserRole::kCustomer;
  std::vector<std::string> scopes;

  bool Has(absl::string_view scope) const;
  bool MaySee(absl::string_view tenant_of_resource) const;
};

// The credential as audit logs name it: "key/ID (ROLE)".
std::string NameOf(const Principal& principal);

// Authenticates the sender of a request. Thread-safe; never blocks.
class Access {
 public:
  virtual ~Access() = default;
  // UNAUTHENTICATED. The message never repeats the request.
  virtual absl::StatusOr<Principal> Authenticate(const http::Request& request) = 0;
};

// The remaining allowance of a tenant.
struct Allowance {
  absl::Duration wait;  // above zero: this request is one too many, until then
  std::int64_t limit = 0;
  std::int64_t left = 0;
  absl::Duration full_in;  // until all of it is there again
  bool is_quota = false;   // of diagnoses a day, the scarcer one just now
};

// Limits the requests of a tenant. Thread-safe.
class RateLimiter {
 public:
  virtual ~RateLimiter() = default;
  // Counts one request of a tenant: one that starts a diagnosis, or any other. `done` is called
  // once, on any thread.
  virtual void Take(const std::string& tenant, bool starts,
                    absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) = 0;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_ACCESS_H_
