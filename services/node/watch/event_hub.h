#ifndef SERVICES_NODE_WATCH_EVENT_HUB_H_
#define SERVICES_NODE_WATCH_EVENT_HUB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "galen/node/v1/node.pb.h"

namespace galen::node {

// Hands what this machine's watch notices to whoever listens. Thread-safe.
class EventHub {
 public:
  // Takes an event, or returns false when there is no room for it. Must neither block nor call the
  // hub.
  using Push = std::function<bool(const v1::WatchEvent& event)>;
  // Called once, when no event will come any more. Must not call the hub.
  using End = std::function<void(const absl::Status& status)>;

  static constexpr std::size_t kMaxListeners = 64;

  explicit EventHub(const Clock& clock) : clock_(clock) {}

  // 0 and up, to be given to Leave(). RESOURCE_EXHAUSTED there are kMaxListeners; UNAVAILABLE after
  // Close(). The first event says in `lost` how many there were before it.
  absl::StatusOr<std::int64_t> Listen(Push push, End end);
  // Once it returns the listener is not called any more. One that is not there is not an error.
  void Leave(std::int64_t listener);

  // Gives the finding to every listener; one that has no room loses it, and its next event says so.
  void Publish(const std::string& check, galen::v1::Finding finding);

  // Says with the next event that so many were lost before anybody saw them.
  void Lost(std::int64_t events);

  // Ends every listener, and those to come, with UNAVAILABLE.
  void Close();

 private:
  struct Listener {
    Push push;
    End end;
    std::int64_t lost = 0;
  };
  const Clock& clock_;
  Mutex mu_;
  std::map<std::int64_t, Listener> listeners_ ABSL_GUARDED_BY(mu_);
  std::int64_t next_listener_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_EVENT_HUB_H_
