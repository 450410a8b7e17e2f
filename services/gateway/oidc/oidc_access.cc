#include "services/gateway/oidc/oidc_access.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/gateway/oidc/id_token.h"

namespace galen::gateway {

OidcAccess::OidcAccess(const std::vector<OidcIssuer>& issuers, Access& keys, const Clock& clock,
                       std::function<void(const std::string&)> tell, Options options)
    : keys_(keys), clock_(clock), tell_(std::move(tell)), options_(std::move(options)) {
  for (const OidcIssuer& issuer : issuers) {
    providers_.push_back(std::make_unique<ProviderKeys>(issuer, clock, options_.times));
  }
  away_.resize(providers_.size());
  FetchDocument fetch = options_.fetch;
  if (!fetch) {
    fetch = [this](const OidcIssuer& issuer, const std::string& url) {
      return FetchOverHttp(issuer, url, cancellation_);
    };
  }
  task_.emplace([this, fetch = std::move(fetch)] {
    Refresh(fetch);
    return options_.tick;
  });
}

OidcAccess::~OidcAccess() { cancellation_.Cancel(); }

absl::StatusOr<Principal> OidcAccess::Authenticate(const http::Request& request) {
  constexpr absl::string_view kBearer = "bearer ";
  absl::string_view text = request.headers.Get("Authorization");
  if (!absl::StartsWithIgnoreCase(text, kBearer)) return keys_.Authenticate(request);
  text = absl::StripAsciiWhitespace(text.substr(kBearer.size()));
  if (!LooksLikeToken(text)) return keys_.Authenticate(request);
  if (request.headers.Count("Authorization") + request.headers.Count("X-API-Key") > 1) {
    return absl::UnauthenticatedError("send one token or key, not several");
  }
  GALEN_ASSIGN_OR_RETURN(const TokenParts token, ParseToken(text));
  for (const std::unique_ptr<ProviderKeys>& provider : providers_) {
    const OidcIssuer& issuer = provider->issuer();
    const auto iss = token.claims.find("iss");
    if (iss == token.claims.end() || *iss != issuer.issuer) continue;
    absl::StatusOr<std::shared_ptr<const JwkSet>> keys = provider->For(token.kid);
    if (!keys.ok()) {
      if (absl::IsUnavailable(keys.status())) task_->Wake();
      return keys.status();
    }
    GALEN_RETURN_IF_ERROR(CheckToken(token, **keys, issuer.issuer, issuer.audience, clock_.Now()));
    return PrincipalOf(issuer, token.claims);
  }
  return absl::UnauthenticatedError("the token is of no issuer that is known here");
}

void OidcAccess::Refresh(const FetchDocument& fetch) {
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    ProviderKeys& provider = *providers_[i];
    if (!provider.Due()) continue;
    const absl::Status status = provider.Refresh(fetch);
    if (cancellation_.cancelled()) return;
    const std::string& issuer = provider.issuer().issuer;
    if (!status.ok() && !away_[i]) {
      tell_(absl::StrCat("the keys of ", issuer, " cannot be had: ", status.message()));
    } else if (status.ok() && away_[i]) {
      tell_(absl::StrCat("the keys of ", issuer, " can be had again"));
    }
    away_[i] = !status.ok();
  }
}

}  // namespace galen::gateway
