#ifndef SERVICES_ORCHESTRATOR_TIMERS_H_
#define SERVICES_ORCHESTRATOR_TIMERS_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace galen::orchestrator {

// Actions at points in time. Who owns it runs what is due (RunDue), or lets a thread of its own do
// so (Start). Actions run without a lock held and must be short. Thread-safe.
class Timers {
 public:
  Timers() = default;
  ~Timers() { Stop(); }
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  void At(absl::Time when, absl::AnyInvocable<void() &&> action);
  // Runs every action whose time has come, in order of time.
  void RunDue(absl::Time now);
  // Runs actions when they are due by the system's clock, until Stop().
  void Start();
  // Returns when no action runs any more; those that wait are dropped.
  void Stop();

 private:
  void Loop();

  // Not the annotated Mutex: it has no wait with a time limit.
  std::mutex mu_;
  std::condition_variable changed_;
  std::multimap<absl::Time, absl::AnyInvocable<void() &&>> actions_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TIMERS_H_
