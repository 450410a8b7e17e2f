#ifndef SERVICES_GATEWAY_OIDC_OIDC_CONFIG_H_
#define SERVICES_GATEWAY_OIDC_OIDC_CONFIG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// One identity provider and the rights of its tokens. docs/api.md describes the file.
struct OidcIssuer {
  std::string issuer;        // as in `iss`, to the byte
  std::string audience;      // that must be in `aud`
  std::string jwks;          // URL of the keys; "": as the provider's discovery document says
  std::string ca_file;       // instead of the system's authorities
  std::string tenant;        // of every such token; "*": any (roles above customer)
  std::string tenant_claim;  // or the claim that names the tenant
  std::string role_claim = "groups";
  // Role by a value of the claim; the highest one counts. A token without any is refused.
  std::vector<std::pair<UserRole, std::vector<std::string>>> roles;
  std::string scope_claim;  // "": every accepted token may read and write
};

// Reads the file. INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<std::vector<OidcIssuer>> ParseOidcConfig(absl::string_view text,
                                                        absl::string_view file);

// The same from a file; NOT_FOUND: it cannot be read.
absl::StatusOr<std::vector<OidcIssuer>> LoadOidcConfig(const std::string& path);

// The owner of a token of this issuer with these verified claims. PERMISSION_DENIED: they give no
// role or no tenant. Pure.
absl::StatusOr<Principal> PrincipalOf(const OidcIssuer& issuer, const nlohmann::json& claims);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_OIDC_CONFIG_H_
