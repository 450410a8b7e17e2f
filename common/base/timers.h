#ifndef COMMON_BASE_TIMERS_H_
#define COMMON_BASE_TIMERS_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/base/steady.h"

namespace galen {

// Actions after a delay, on a time scale that runs steadily even when the time of day is set. The
// owner runs due actions (RunDue), or starts a thread for them (Start). Actions run without a lock
// held and must be short. Thread-safe.
class Timers {
 public:
  // `now` gives the time on that scale; Start() is for SteadyNow alone.
  explicit Timers(std::function<absl::Time()> now = SteadyNow) : now_(std::move(now)) {}
  ~Timers() { Stop(); }
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  absl::Time Now() const { return now_(); }
  // The scale itself, for who may outlive these.
  const std::function<absl::Time()>& scale() const { return now_; }
  void After(absl::Duration wait, absl::AnyInvocable<void() &&> action);
  // Runs every action whose time has come, in order of time.
  void RunDue();
  // Runs actions when they are due, until Stop().
  void Start();
  // Returns when no action runs any more; those that wait are dropped.
  void Stop();

 private:
  void Loop();

  const std::function<absl::Time()> now_;
  // Not the annotated Mutex: it has no wait with a time limit.
  std::mutex mu_;
  std::condition_variable changed_;
  std::multimap<absl::Time, absl::AnyInvocable<void() &&>> actions_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace galen

#endif  // COMMON_BASE_TIMERS_H_
