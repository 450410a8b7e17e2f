#include "services/gateway/oidc/provider_keys.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/json_access.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/http/curl_transport.h"

namespace galen::gateway {
namespace {

constexpr absl::Duration kFetchTime = absl::Seconds(10);
constexpr std::size_t kMostAnswerBytes = 256 << 10;

// OpenID Connect Discovery 1.0 section 4. The document must name the issuer that was asked.
absl::StatusOr<std::string> KeysUrl(const OidcIssuer& issuer, const FetchDocument& fetch) {
  if (!issuer.jwks.empty()) return issuer.jwks;
  const std::string url =
      absl::StrCat(absl::StripSuffix(issuer.issuer, "/"), "/.well-known/openid-configuration");
  GALEN_ASSIGN_OR_RETURN(const std::string text, fetch(issuer, url));
  const auto document = ParseJson(text);
  const auto text_of = [&](const char* name) {
    const auto it = document.is_object() ? document.find(name) : document.end();
    return document.is_object() && it != document.end() && it->is_string() ? it->get<std::string>()
                                                                           : std::string();
  };
  if (text_of("issuer") != issuer.issuer) {
    return absl::FailedPreconditionError(
        absl::StrCat(url, ": speaks for another issuer; write the issuer as it does"));
  }
  std::string keys = text_of("jwks_uri");
  const bool plain = absl::StartsWith(issuer.issuer, "http://");
  if (!absl::StartsWith(keys, "https://") && !(plain && absl::StartsWith(keys, "http://"))) {
    return absl::FailedPreconditionError(absl::StrCat(url, ": names no https:// URL as jwks_uri"));
  }
  return keys;
}

}  // namespace

absl::StatusOr<std::string> FetchOverHttp(const OidcIssuer& issuer, const std::string& url,
                                          const Cancellation& cancellation) {
  galen::http::CurlTransport transport({.ca_file = issuer.ca_file, .proxy = "environment"});
  galen::http::Request request;
  request.target = url;
  request.deadline = SteadyNow() + kFetchTime;
  request.cancellation = &cancellation;
  request.most_bytes = kMostAnswerBytes;
  absl::StatusOr<galen::http::Reply> reply = transport.Send(request, galen::http::Secret());
  if (!reply.ok()) {
    return absl::Status(reply.status().code(), absl::StrCat(url, ": ", reply.status().message()));
  }
  if (reply->code != 200) {
    return absl::UnavailableError(absl::StrCat(url, ": answers HTTP ", reply->code));
  }
  return std::move(reply->body);
}

bool ProviderKeys::Due() const {
  const MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  if (tried_ > now) return true;  // the clock was set back
  if (now - tried_ < times_.least) return false;
  return wanted_ || now - tried_ >= (failed_ ? times_.retry : times_.refresh);
}

absl::Status ProviderKeys::Refresh(const FetchDocument& fetch) {
  absl::StatusOr<JwkSet> keys = absl::UnknownError("");
  absl::StatusOr<std::string> url = KeysUrl(issuer_, fetch);
  if (url.ok()) {
    absl::StatusOr<std::string> text = fetch(issuer_, *url);
    if (text.ok()) {
      keys = JwkSet::Parse(*text);
      if (!keys.ok()) {
        keys = absl::FailedPreconditionError(absl::StrCat(*url, ": ", keys.status().message()));
      }
    } else {
      keys = text.status();
    }
  } else {
    keys = url.status();
  }
  const MutexLock lock(mu_);
  tried_ = clock_.Now();
  failed_ = !keys.ok();
  wanted_ = false;
  if (!keys.ok()) return keys.status();
  keys_ = std::make_shared<const JwkSet>(*std::move(keys));
  fetched_ = tried_;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const JwkSet>> ProviderKeys::For(const std::string& kid) {
  const MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  const bool believed = keys_ != nullptr && now - fetched_ < times_.believed;
  if (believed && keys_->Has(kid)) return keys_;
  // Keys change now and then, but a client that names unknown keys must not make us ask the
  // provider again and again.
  if (wanted_ || failed_ || now - tried_ >= times_.least) {
    wanted_ = true;
    return WithRetryAfter(
        absl::UnavailableError("the key of this token is not known here yet; try again"),
        absl::Seconds(1));
  }
  return absl::UnauthenticatedError("the token is signed with a key that its issuer does not have");
}

}  // namespace galen::gateway
