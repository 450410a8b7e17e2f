#ifndef SERVICES_GATEWAY_ACCESS_KEY_ACCESS_H_
#define SERVICES_GATEWAY_ACCESS_KEY_ACCESS_H_

#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/periodic_task.h"
#include "services/gateway/access/api_key_store.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// Authenticates clients by the API key in `Authorization: Bearer KEY` (or `X-API-Key: KEY`).
// Follows the store: a key created or revoked elsewhere takes effect here within about a second.
// While the store is unreachable, the keys read last stay valid.
class KeyAccess final : public Access {
 public:
  // Both must outlive it. `tell` gets a sentence when the store becomes unreachable, and when it is
  // reachable again.
  KeyAccess(ApiKeyStore& key_store, const Clock& clock,
            std::function<void(const std::string&)> tell,
            absl::Duration refresh = absl::Seconds(1));

  absl::StatusOr<Principal> Authenticate(const http::Request& request) override;

 private:
  ApiKeyStore& key_store_;
  const Clock& clock_;
  const std::function<void(const std::string&)> tell_;
  bool away_ = false;  // of the task
  PeriodicTask task_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_ACCESS_KEY_ACCESS_H_
