#ifndef SERVICES_ORCHESTRATOR_WATCHERS_H_
#define SERVICES_ORCHESTRATOR_WATCHERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::orchestrator {

// Events that a watcher gets at a time.
inline constexpr int kWatchBatch = 256;

struct EventBatch {
  std::vector<v1::DiagnosisEvent> events;
  // The diagnosis is over, or awaits feedback, and these events are the last.
  bool ended = false;
};

// Gets the next events of a diagnosis, exactly once.
using OnEvents = absl::AnyInvocable<void(absl::StatusOr<EventBatch>) &&>;

// A watcher that has seen all there is, and waits for more.
struct Watcher {
  std::string name;
  std::int64_t after_sequence = 0;
  OnEvents on_events;
};

// Tells a watcher that it is to watch again elsewhere.
void EndWatch(Watcher watcher);

// A watcher on its way through a queue. If it is dropped there, because the orchestrator is gone,
// it is told so.
class HeldWatcher {
 public:
  explicit HeldWatcher(Watcher watcher) : watcher_(std::make_unique<Watcher>(std::move(watcher))) {}
  HeldWatcher(HeldWatcher&&) = default;
  HeldWatcher& operator=(HeldWatcher&&) = delete;
  ~HeldWatcher() {
    if (watcher_ != nullptr) EndWatch(std::move(*watcher_));
  }
  Watcher Take() && {
    const std::unique_ptr<Watcher> taken = std::move(watcher_);
    return std::move(*taken);
  }

 private:
  std::unique_ptr<Watcher> watcher_;
};

// The watchers that wait, by ticket. The log itself is the queue of each: a slow one reads later,
// and holds nothing but its place. Thread-safe; never calls a watcher itself.
class Watchers {
 public:
  // False after Close(); `watcher` is untouched then.
  bool Add(std::int64_t ticket, Watcher& watcher);
  std::optional<Watcher> Take(std::int64_t ticket);
  // All that wait for this diagnosis.
  std::vector<std::pair<std::int64_t, Watcher>> TakeAll(absl::string_view name);
  // Names that are waited for.
  std::vector<std::string> Names();
  // Takes all, and refuses new ones.
  std::vector<Watcher> Close();
  std::int64_t NewTicket();

 private:
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::int64_t last_ticket_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::int64_t, Watcher> waiting_ ABSL_GUARDED_BY(mu_);
  std::multimap<std::string, std::int64_t, std::less<>> by_name_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_WATCHERS_H_
