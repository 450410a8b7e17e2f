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

// Gets a document of the provider by an HTTP GET. Blocks.
using FetchDocument =
    std::function<absl::StatusOr<std::string>(const OidcIssuer& issuer, const std::string& url)>;

// FetchDocument over HTTP with TLS, of at most 256 KiB and in at most 10 s; CANCELLED if stopped
// sooner.
absl::StatusOr<std::string> FetchOverHttp(const OidcIssuer& issuer, const std::string& url,
                                          const Cancellation& cancellation);

// The keys of one provider, and when to fetch them again. Thread-safe.
class ProviderKeys {
 public:
  struct Times {
    absl::Duration refresh = absl::Minutes(10);
    // No sooner than this, however many tokens name unknown keys.
    absl::Duration least = absl::Seconds(10);
    // Pause after a failure; and how long the last keys stay valid while the provider is
    // unreachable.
    absl::Duration retry = absl::Seconds(30);
    absl::Duration believed = absl::Hours(24);
  };
  // `clock` must outlive it.
  ProviderKeys(OidcIssuer issuer, const Clock& clock, Times times)
      : issuer_(std::move(issuer)), clock_(clock), times_(times) {}

  const OidcIssuer& issuer() const { return issuer_; }

  // Whether Refresh() should be called now.
  bool Due() const;
  // Fetches the keys. On an error of the provider the known keys stay.
  absl::Status Refresh(const FetchDocument& fetch);

  // The keys, if `kid` is among them. UNAVAILABLE: it is unknown yet, so that a Refresh() is due,
  // try again; UNAUTHENTICATED: there is no such key.
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
