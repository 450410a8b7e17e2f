#include "services/node/watch/event_hub.h"

#include <utility>

#include "absl/time/time.h"
#include "common/base/proto_time.h"

namespace galen::node {
namespace {

absl::Status Closed() { return absl::UnavailableError("this node executor is shutting down"); }

}  // namespace

absl::StatusOr<std::int64_t> EventHub::Listen(Push push, End end) {
  MutexLock lock(mu_);
  if (closed_) return Closed();
  if (listeners_.size() >= kMaxListeners) {
    return absl::ResourceExhaustedError("this node is watched by as many callers as it takes");
  }
  const std::int64_t listener = next_listener_++;
  listeners_[listener] = {std::move(push), std::move(end), sequence_};
  return listener;
}

void EventHub::Leave(std::int64_t listener) {
  MutexLock lock(mu_);
  listeners_.erase(listener);
}

void EventHub::Publish(const std::string& check, galen::v1::Finding finding) {
  MutexLock lock(mu_);
  v1::WatchEvent event;
  event.set_check(check);
  *event.mutable_finding() = std::move(finding);
  *event.mutable_noticed_at() = ToTimestamp(clock_.Now());
  event.set_sequence(++sequence_);
  for (auto& [id, listener] : listeners_) {
    event.set_lost(listener.lost);
    listener.lost = listener.push(event) ? 0 : listener.lost + 1;
  }
}

void EventHub::Lost(std::int64_t events) {
  MutexLock lock(mu_);
  for (auto& [id, listener] : listeners_) listener.lost += events;
}

void EventHub::Close() {
  std::map<std::int64_t, Listener> listeners;
  {
    MutexLock lock(mu_);
    closed_ = true;
    listeners.swap(listeners_);
  }
  for (auto& [id, listener] : listeners) listener.end(Closed());
}

}  // namespace galen::node
