#include "services/gateway/oidc/id_token.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/json_strict.h"

namespace galen::gateway {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 16 << 10;

absl::Status NoToken() { return absl::UnauthenticatedError("this is not a token"); }

bool IsBase64Url(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

// Also refuses a repeated name, on which parsers disagree.
absl::StatusOr<json> ObjectOf(absl::string_view part) {
  std::string text;
  if (!IsBase64Url(part) || !absl::WebSafeBase64Unescape(part, &text)) return NoToken();
  json object = ParseStrictJson(text, {.depth = 16, .values = 10'000});
  if (!object.is_object()) return NoToken();
  return object;
}

std::string TextOf(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// NumericDate: seconds since 1970, which may have a fraction.
std::optional<absl::Time> TimeOf(const json& claims, const char* name) {
  const auto it = claims.find(name);
  if (it == claims.end() || !it->is_number()) return std::nullopt;
  const double seconds = it->get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e11) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

bool IsFor(const json& claims, absl::string_view audience) {
  const auto it = claims.find("aud");
  if (it == claims.end()) return false;
  if (it->is_string()) return it->get<std::string>() == audience;
  if (!it->is_array()) return false;
  return std::any_of(it->begin(), it->end(), [&](const json& one) {
    return one.is_string() && one.get<std::string>() == audience;
  });
}

}  // namespace

bool LooksLikeToken(absl::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 2;
}

absl::StatusOr<TokenParts> ParseToken(absl::string_view text) {
  if (text.size() > kMostBytes) return NoToken();
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  if (parts.size() != 3) return NoToken();
  absl::StatusOr<json> header = ObjectOf(parts[0]);
  if (!header.ok()) return header.status();
  absl::StatusOr<json> claims = ObjectOf(parts[1]);
  if (!claims.ok()) return claims.status();
  TokenParts token;
  token.alg = TextOf(*header, "alg");
  token.kid = TextOf(*header, "kid");
  // An extension marked as critical must be understood, and none is (RFC 7515 section 4.1.11).
  if (header->contains("crit") || token.alg.empty() || token.kid.empty()) {
    return absl::UnauthenticatedError("the token's header is not one that is taken here");
  }
  if (!IsBase64Url(parts[2]) || !absl::WebSafeBase64Unescape(parts[2], &token.signature)) {
    return NoToken();
  }
  token.claims = *std::move(claims);
  token.signed_text = absl::StrCat(parts[0], ".", parts[1]);
  return token;
}

absl::Status CheckToken(const TokenParts& token, const JwkSet& keys, absl::string_view issuer,
                        absl::string_view audience, absl::Time now) {
  if (absl::Status status = keys.Verify(token.kid, token.alg, token.signed_text, token.signature);
      !status.ok()) {
    return status;
  }
  if (TextOf(token.claims, "iss") != issuer) {
    return absl::UnauthenticatedError("the token is of another issuer");
  }
  if (!IsFor(token.claims, audience)) {
    return absl::UnauthenticatedError("the token is for another audience");
  }
  const std::optional<absl::Time> expires = TimeOf(token.claims, "exp");
  if (!expires.has_value() || now >= *expires + kTokenLeeway) {
    return absl::UnauthenticatedError("the token has expired");
  }
  // A token that is valid for so long cannot be revoked in practice.
  if (*expires - now > kLongestToken) {
    return absl::UnauthenticatedError(
        absl::StrCat("the token is good for longer than ", absl::FormatDuration(kLongestToken)));
  }
  for (const char* name : {"nbf", "iat"}) {
    if (!token.claims.contains(name)) continue;
    const std::optional<absl::Time> from = TimeOf(token.claims, name);
    if (!from.has_value() || now < *from - kTokenLeeway) {
      return absl::UnauthenticatedError("the token is not good yet");
    }
  }
  const std::string subject = TextOf(token.claims, "sub");
  if (subject.empty() || subject.size() > 256) {
    return absl::UnauthenticatedError("the token names no valid subject");
  }
  return absl::OkStatus();
}

}  // namespace galen::gateway
