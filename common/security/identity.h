#ifndef COMMON_SECURITY_IDENTITY_H_
#define COMMON_SECURITY_IDENTITY_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/security/role.h"

namespace galen::security {

// The identity of a program: the one URI in its certificate's subject alternative names, in the
// form of a SPIFFE ID, `spiffe://DOMAIN/galen/ROLE` or `spiffe://DOMAIN/galen/ROLE/INSTANCE`. The
// instance distinguishes members of a role (the host of a node executor, the name of an operator).
struct Identity {
  // Views into the URI that was parsed.
  absl::string_view domain;
  Role role = Role::kMetrics;
  absl::string_view instance;  // "": none
};

// Longest URI that is an identity, as SPIFFE-ID.md section 2.3 sets it.
inline constexpr std::size_t kMaxIdentityBytes = 2048;

// Parses such a URI; nothing when it is invalid. Allocates nothing, since every call needs it.
std::optional<Identity> ParseIdentity(absl::string_view uri);

// The URI of a role. `domain` and `instance` must satisfy IsDomain() and IsInstance() (or "").
std::string IdentityUri(absl::string_view domain, Role role, absl::string_view instance = "");

// The name under which a server of a role is asked for when a connection is made (SNI), whatever
// its host is called: "planning.galen.local". Certificates of `galen certs` carry it, others may.
std::string ServerName(absl::string_view domain, Role role);

// A trust domain: [a-z0-9._-], 1 to 255 bytes (SPIFFE-ID.md section 2.1).
bool IsDomain(absl::string_view domain);
// One path segment: [A-Za-z0-9._-], 1 to 253 bytes, neither "." nor "..".
bool IsInstance(absl::string_view instance);

// The tenant of a resource: "t" of "tenants/t" and of "tenants/t/diagnoses/d"; "" of all else.
absl::string_view TenantOf(absl::string_view resource);

}  // namespace galen::security

#endif  // COMMON_SECURITY_IDENTITY_H_
