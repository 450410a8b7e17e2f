#ifndef SERVICES_GATEWAY_OIDC_ID_TOKEN_H_
#define SERVICES_GATEWAY_OIDC_ID_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "services/gateway/oidc/jwk_set.h"

// JSON web tokens in compact form (RFC 7519, RFC 7515), as OpenID Connect has them. Pure; a token
// is a hostile text of at most 16 KiB, and no message repeats any of it.
namespace galen::gateway {

// How much the clocks of the provider and this machine may differ.
inline constexpr absl::Duration kTokenLeeway = absl::Seconds(60);
// How far ahead the end of a token may lie.
inline constexpr absl::Duration kLongestToken = absl::Hours(24 * 7);

// Three parts, not yet believed.
struct TokenParts {
  std::string alg;
  std::string kid;
  nlohmann::json claims;
  std::string signed_text;  // what the signature is of
  std::string signature;
};

// True for what may be a token, and so is no API key: two dots.
bool LooksLikeToken(absl::string_view text);

// UNAUTHENTICATED: this is no token, or one that asks for what is not done here (`crit`, no `kid`,
// an algorithm "none").
absl::StatusOr<TokenParts> ParseToken(absl::string_view text);

// OK when the token is signed by `keys`, is of `issuer` for `audience`, and good at `now`.
// UNAUTHENTICATED with what is wrong.
absl::Status CheckToken(const TokenParts& token, const JwkSet& keys, absl::string_view issuer,
                        absl::string_view audience, absl::Time now);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_ID_TOKEN_H_
