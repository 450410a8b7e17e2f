#ifndef SERVICES_WATCH_KUBERNETES_H_
#define SERVICES_WATCH_KUBERNETES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/store.h"

namespace galen::watch {

// What galen-watch does in a Kubernetes cluster (--kubernetes): says on its nodes what diagnoses
// concluded, and does to them what persons approved. Ends with its destruction.
class Kubernetes {
 public:
  virtual ~Kubernetes() = default;
  // Null without --kubernetes. `own`: for whom galen-watch opens diagnoses. All must outlive it.
  // Errors of the flags, of the pod's token, and of the knowledge.
  static absl::StatusOr<std::unique_ptr<Kubernetes>> Open(store::Store& store, const Clock& clock,
                                                          const std::vector<std::string>& knowledge,
                                                          const std::string& own);
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_KUBERNETES_H_
