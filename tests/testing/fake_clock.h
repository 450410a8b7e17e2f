#ifndef TESTS_TESTING_FAKE_CLOCK_H_
#define TESTS_TESTING_FAKE_CLOCK_H_

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace galen::testing {

// A clock that only moves when the test advances it. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}
  absl::Time Now() const override {
    MutexLock lock(mu_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mu_);
    now_ += by;
  }

 private:
  mutable Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_FAKE_CLOCK_H_
