#ifndef COMMON_KUBE_WATCH_H_
#define COMMON_KUBE_WATCH_H_

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "common/base/cancellation.h"
#include "common/kube/client.h"
#include "common/kube/watch_state.h"

namespace galen::kube {

// The callbacks of a watch, on its thread, one call at a time.
struct Watcher {
  std::function<void(const Change&)> on_change;
  // After each whole list: all existing objects have been reported. May be empty.
  std::function<void()> on_synced;
  // A list or connection failed; the watch continues by itself. May be empty.
  std::function<void(const absl::Status&)> on_trouble;
};

// Watches until it is cancelled, through lost connections, restarts of the API server and expired
// versions; also while the kind does not exist or is not permitted yet.
void RunWatch(Client& client, const Selection& selection, const Watcher& watcher,
              const Cancellation& cancellation);

// The same on a separate thread, which ends with it.
class Watch {
 public:
  // `client` outlives it.
  Watch(Client& client, Selection selection, Watcher watcher);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_WATCH_H_
