#ifndef SERVICES_WATCH_KUBERNETES_CONCLUSIONS_H_
#define SERVICES_WATCH_KUBERNETES_CONCLUSIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/event_log.h"
#include "services/watch/kubernetes/findings.h"

namespace galen::watch::kubernetes {

// The conclusions of recent diagnoses, read from their event logs. It keeps only what it read;
// after a restart it reads the logs again. Not thread-safe.
class Conclusions {
 public:
  // Both must outlive it. Conclusions older than `hold` are forgotten. `own`: the tenant of
  // diagnoses that we open ("tenants/provider"), from reports of nodes.
  Conclusions(store::EventLog& events, const Clock& clock, absl::Duration hold, std::string own)
      : events_(events), clock_(clock), hold_(hold), own_(std::move(own)) {}

  // Scans for new events once. After an error the state is unchanged, and the next scan continues.
  absl::Status Scan();
  std::vector<Conclusion> All() const;

 private:
  struct Followed {
    std::int64_t last = 0;  // event that was read
    absl::Time heard;       // its time
    bool over = false;
    bool of_bundle = false;  // supplied by somebody, of unknown origin
    std::optional<Conclusion> conclusion;
  };
  absl::Status FindNew();
  absl::Status Read(const std::string& name, Followed& followed);

  store::EventLog& events_;
  const Clock& clock_;
  const absl::Duration hold_;
  const std::string own_;
  std::map<std::string, Followed> followed_;
};

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_CONCLUSIONS_H_
