#ifndef COMMON_LOG_SOURCES_PODS_H_
#define COMMON_LOG_SOURCES_PODS_H_

#include <memory>
#include <string>
#include <utility>

#include "common/kube/client.h"
#include "common/log_sources/log_store.h"

namespace galen::log_sources {

// The logs of pods that a cluster still has, as `kubectl logs` reads them: each container by
// itself, and of a container that was started again also its last run before.
class Pods final : public LogStore {
 public:
  // Pod `pod` of a namespace, or all pods that `labels` select ("job-name=train"; "": all).
  Pods(std::unique_ptr<kube::Client> client, std::string space, std::string pod, std::string labels)
      : client_(std::move(client)),
        space_(std::move(space)),
        pod_(std::move(pod)),
        labels_(std::move(labels)) {}

  std::string name() const override;
  absl::StatusOr<Fetched> Fetch(const Window& window, const Limits& limits,
                                const Cancellation* cancellation) override;

 private:
  const std::unique_ptr<kube::Client> client_;
  const std::string space_;
  const std::string pod_;
  const std::string labels_;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_PODS_H_
