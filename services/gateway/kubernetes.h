#ifndef SERVICES_GATEWAY_KUBERNETES_H_
#define SERVICES_GATEWAY_KUBERNETES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/store.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/redaction/customer_redactor.h"

namespace galen::gateway {

// The gateway's part in a Kubernetes cluster (--kubernetes): serves its Diagnosis objects, unless
// another gateway of the same store does. Ends with its destruction.
class Kubernetes {
 public:
  struct Needs {
    Upstream& upstream;
    RateLimiter& rates;
    store::Store& store;
    const Clock& clock;
    const CustomerRedactor& redactor;
    const std::vector<std::string>& knowledge;
  };
  virtual ~Kubernetes() = default;
  // Null without --kubernetes. All must outlive it. Errors of the flags, of the pod's token, and of
  // the knowledge.
  static absl::StatusOr<std::unique_ptr<Kubernetes>> Open(const Needs& needs);
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_KUBERNETES_H_
