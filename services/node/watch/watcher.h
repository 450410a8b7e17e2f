#ifndef SERVICES_NODE_WATCH_WATCHER_H_
#define SERVICES_NODE_WATCH_WATCHER_H_

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/host/file_descriptor.h"
#include "common/host/host.h"
#include "common/knowledge/knowledge.h"
#include "services/node/checks/system/kernel_patterns.h"
#include "services/node/watch/event_hub.h"
#include "services/node/watch/kernel_reader.h"
#include "services/node/watch/sampler.h"

namespace galen::node {

// Watches a machine on a thread of its own: samples its counters and follows its kernel log, and
// publishes what is an event. Destroying it stops the thread.
class Watcher {
 public:
  struct Options {
    absl::Duration interval = absl::Seconds(1);
  };

  // `kernel_log` may be null: only counters are watched then. `hub` must outlive the watcher.
  Watcher(std::shared_ptr<const host::Host> host, std::unique_ptr<Sampler> sampler,
          std::unique_ptr<KernelReader> kernel_log, std::shared_ptr<const KernelPatterns> patterns,
          EventHub& hub, Options options);
  ~Watcher();

  // Watches this machine by the list of knowledge/watch.txt and the kernel lines of `knowledge`,
  // both as they are now. Says on standard error what it cannot watch; the errors are those of
  // LoadWatchList.
  static absl::StatusOr<std::unique_ptr<Watcher>> Start(
      const std::vector<std::string>& knowledge_directories, const knowledge::Knowledge& knowledge,
      std::shared_ptr<const host::Host> host, EventHub& hub);

 private:
  void Loop();
  void ReadKernelLog(class KernelLogFollower& follower);
  // Asks the drivers' tools, which may take seconds.
  void LearnNames();

  const std::shared_ptr<const host::Host> host_;
  const std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<KernelReader> kernel_log_;
  const std::shared_ptr<const KernelPatterns> patterns_;
  EventHub& hub_;
  const Options options_;
  const host::FileDescriptor stop_;  // an eventfd
  Mutex mu_;
  std::map<std::string, std::string> names_ ABSL_GUARDED_BY(mu_);
  std::thread names_thread_;
  std::thread thread_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_WATCHER_H_
