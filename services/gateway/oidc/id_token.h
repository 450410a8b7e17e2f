#ifndef SERVICES_GATEWAY_OIDC_ID_TOKEN_H_
#define SERVICES_GATEWAY_OIDC_ID_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "services/gateway/oidc/jwk_set.h"

// JSON web tokens in compact form (RFC 7519, RFC 7515), as in OpenID Connect. Pure; a token is a
// hostile text of at most 16 KiB, and no message repeats any of it.
namespace galen::gateway {

// The greatest difference between the clocks of the provider and this machine.
inline constexpr absl::Duration kTokenLeeway = absl::Seconds(60);
// The latest expiry of a token, from now.
inline constexpr absl::Duration kLongestToken = absl::Hours(24 * 7);

// The three parts of a token, not verified yet.
struct TokenParts {
  std::string alg;
  std::string kid;
  nlohmann::json claims;
  std::string signed_text;  // the signed text
  std::string signature;
};

// True if the text may be a token, and so is not an API key: it has two dots.
bool LooksLikeToken(absl::string_view text);

// UNAUTHENTICATED: this is not a token, or it needs what is unsupported here (`crit`, no `kid`, an
// algorithm "none").
absl::StatusOr<TokenParts> ParseToken(absl::string_view text);

// OK if the token is signed by `keys`, is of `issuer` for `audience`, and valid at `now`.
// UNAUTHENTICATED with the problem.
absl::Status CheckToken(const TokenParts& token, const JwkSet& keys, absl::string_view issuer,
                        absl::string_view audience, absl::Time now);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_ID_TOKEN_H_
