#ifndef SERVICES_NODE_WATCH_WATCHER_H_
#define SERVICES_NODE_WATCH_WATCHER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/host.h"
#include "common/knowledge/knowledge.h"
#include "services/node/checks/system/kernel_patterns.h"
#include "services/node/watch/event_hub.h"
#include "services/node/watch/kernel_reader.h"
#include "services/node/watch/sampler.h"

namespace galen::node {

// Watches a machine: samples its counters and follows its kernel log, each on a thread of its own,
// as a counter whose driver does not answer must not hide what the kernel says of it; and publishes
// what is an event. Destroying it stops the threads. One that is stuck is left to itself, and
// nothing is published any more.
class Watcher {
 public:
  struct Options {
    absl::Duration interval = absl::Seconds(1);
    // How long the threads are waited for at the end.
    absl::Duration farewell = absl::Seconds(2);
  };

  // `kernel_log` may be null: only counters are watched then. `hub` must outlive the watcher.
  Watcher(std::shared_ptr<const host::Host> host, std::unique_ptr<Sampler> sampler,
          std::unique_ptr<KernelReader> kernel_log, std::shared_ptr<const KernelPatterns> patterns,
          EventHub& hub, Options options);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Watches this machine by the list of knowledge/watch.txt and the kernel lines of `knowledge`,
  // both as they are now. Says on standard error what it cannot watch; the errors are those of
  // LoadWatchList.
  static absl::StatusOr<std::unique_ptr<Watcher>> Start(
      const std::vector<std::string>& knowledge_directories, const knowledge::Knowledge& knowledge,
      std::shared_ptr<const host::Host> host, EventHub& hub);

 private:
  // The state that the threads share, and keep for as long as they are stuck.
  class Watch;

  const std::shared_ptr<Watch> watch_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_WATCHER_H_
