#ifndef SERVICES_GATEWAY_KUBERNETES_MESH_H_
#define SERVICES_GATEWAY_KUBERNETES_MESH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/upstream.h"

namespace galen::gateway::kubernetes {

// A controller's calls to the mesh, within the same limits as those of any client. Thread-safe;
// blocks, for some seconds at most.
class Mesh {
 public:
  Mesh(Upstream& upstream, RateLimiter& rates) : upstream_(upstream), rates_(rates) {}

  // RESOURCE_EXHAUSTED, with the time to wait, beyond the limits of the tenant.
  absl::StatusOr<galen::v1::Diagnosis> Create(const galen::v1::CreateDiagnosisRequest& request);
  absl::StatusOr<galen::v1::Diagnosis> Get(const std::string& name);
  absl::Status Cancel(const std::string& name, const std::string& reason);

 private:
  Upstream& upstream_;
  RateLimiter& rates_;
};

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_MESH_H_
