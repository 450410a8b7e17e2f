#ifndef SERVICES_GATEWAY_OIDC_OIDC_ACCESS_H_
#define SERVICES_GATEWAY_OIDC_OIDC_ACCESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/periodic_task.h"
#include "services/gateway/api/access.h"
#include "services/gateway/oidc/provider_keys.h"

namespace galen::gateway {

// Authenticates clients by a token of an identity provider, `Authorization: Bearer TOKEN`; a client
// without one needs an API key. The providers' keys are fetched on a thread of its own: a request
// never waits for a provider. Thread-safe.
class OidcAccess final : public Access {
 public:
  struct Options {
    ProviderKeys::Times times;
    absl::Duration tick = absl::Milliseconds(200);
    FetchDocument fetch;  // none: FetchOverHttp
  };
  // `keys` (for clients without a token) and `clock` must outlive it. `tell` gets a sentence when a
  // provider becomes unreachable, and when it is reachable again.
  OidcAccess(const std::vector<OidcIssuer>& issuers, Access& keys, const Clock& clock,
             std::function<void(const std::string&)> tell, Options options);
  ~OidcAccess() override;
  OidcAccess(const OidcAccess&) = delete;
  OidcAccess& operator=(const OidcAccess&) = delete;

  absl::StatusOr<Principal> Authenticate(const http::Request& request) override;

 private:
  void Refresh(const FetchDocument& fetch);

  std::vector<std::unique_ptr<ProviderKeys>> providers_;
  Access& keys_;
  const Clock& clock_;
  const std::function<void(const std::string&)> tell_;
  const Options options_;
  Cancellation cancellation_;
  std::vector<bool> away_;  // by provider; of the task
  std::optional<PeriodicTask> task_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_OIDC_ACCESS_H_
