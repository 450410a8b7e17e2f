#ifndef SERVICES_GATEWAY_OIDC_PROVIDER_KEYS_H_
#define SERVICES_GATEWAY_OIDC_PROVIDER_KEYS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "services/gateway/oidc/jwk_set.h"
#include "services/gateway/oidc/oidc_config.h"

namespace galen::gateway {

// Gets a document of the provider's: an HTTP GET. Blocks; the error says what went wrong.
using FetchDocument =
    std::function<absl::StatusOr<std::string>(const OidcIssuer& issuer, const std::string& url)>;

// FetchDocument over HTTP with TLS, of at most 256 KiB and in at most 10 s; CANCELLED sooner.
absl::StatusOr<std::string> FetchOverHttp(const OidcIssuer& issuer, const std::string& url,
                                          const Cancellation& cancellation);

// The keys of one provider, and when to get them anew. Thread-safe.
class ProviderKeys {
 public:
  struct Times {
    absl::Duration refresh = absl::Minutes(10);
    // No sooner than this, however many tokens name keys that nobody knows.
    absl::Duration least = absl::Seconds(10);
    // After a failure again; while the provider is away, its last keys are believed this long.
    absl::Duration retry = absl::Seconds(30);
    absl::Duration believed = absl::Hours(24);
  };
  // `clock` must outlive it.
  ProviderKeys(OidcIssuer issuer, const Clock& clock, Times times)
      : issuer_(std::move(issuer)), clock_(clock), times_(times) {}

  const OidcIssuer& issuer() const { return issuer_; }

  // Whether Refresh() should be called now.
  bool Due() const;
  // Gets the keys. The provider's error; what was known stays.
  absl::Status Refresh(const FetchDocument& fetch);

  // The keys, when `kid` is among them. UNAVAILABLE: not yet known, but a Refresh() is due because
  // of it, try again; UNAUTHENTICATED: there is no such key.
  absl::StatusOr<std::shared_ptr<const JwkSet>> For(const std::string& kid);

 private:
  const OidcIssuer issuer_;
  const Clock& clock_;
  const Times times_;
  mutable Mutex mu_;
  std::shared_ptr<const JwkSet> keys_ ABSL_GUARDED_BY(mu_);
  absl::Time fetched_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // keys_
  absl::Time tried_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  bool failed_ ABSL_GUARDED_BY(mu_) = false;  // the last try
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;  // a token named a key that is not known
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_PROVIDER_KEYS_H_
