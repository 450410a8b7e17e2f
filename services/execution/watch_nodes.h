#ifndef SERVICES_EXECUTION_WATCH_NODES_H_
#define SERVICES_EXECUTION_WATCH_NODES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/clients.h"
#include "services/execution/node_registry.h"

namespace galen::execution {

// Listens to node executors for whoever watches them: one call to a node, however many watch it,
// and none while nobody does. A call that ends is made again after a pause. Thread-safe.
class NodeWatch {
 public:
  struct Options {
    // The pause doubles from the first to the longest, and starts again at the first with an event.
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Seconds(30);
  };

  // Takes an event, or returns false when there is no room for it; its next event then says how
  // many were lost. Must neither block nor call the watch.
  using Push = std::function<bool(v1::NodeEvent event)>;

  static constexpr std::size_t kMaxWatchers = 256;

  // Both must outlive the watch.
  NodeWatch(const NodeRegistry& registry, const Clock& clock, Options options);
  // Ends the calls to the nodes.
  ~NodeWatch();

  // Begins to watch. The number is for Leave(). NOT_FOUND a node that is not registered,
  // RESOURCE_EXHAUSTED there are kMaxWatchers already.
  absl::StatusOr<std::int64_t> Watch(const v1::WatchNodesRequest& request, Push push);
  // Once it returns the watcher is not called any more. One that is not there is not an error.
  void Leave(std::int64_t watcher);

 private:
  // State shared with the calls in flight, which may outlive the watch.
  struct State;
  const std::shared_ptr<State> state_;
  std::thread reconnecting_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_WATCH_NODES_H_
