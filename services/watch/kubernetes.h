#ifndef SERVICES_WATCH_KUBERNETES_H_
#define SERVICES_WATCH_KUBERNETES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/store.h"

namespace galen::watch {

// The Kubernetes part of galen-watch (--kubernetes): records conclusions on nodes, and carries out
// approved actions on them. Ends with its destruction.
class Kubernetes {
 public:
  virtual ~Kubernetes() = default;
  // Null without --kubernetes. `own`: the tenant of diagnoses that galen-watch opens. All must
  // outlive it. Errors of the flags, of the pod's token, and of the knowledge.
  static absl::StatusOr<std::unique_ptr<Kubernetes>> Open(store::Store& store, const Clock& clock,
                                                          const std::vector<std::string>& knowledge,
                                                          const std::string& own);
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_KUBERNETES_H_
