#ifndef COMMON_BASE_CLOCK_H_
#define COMMON_BASE_CLOCK_H_

#include <chrono>

#include "absl/time/time.h"

namespace galen {

// The time of day, as an interface so that tests choose it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// (absl::Now() would follow a clock that is set only seconds later.)
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::FromChrono(std::chrono::system_clock::now()); }
};

}  // namespace galen

#endif  // COMMON_BASE_CLOCK_H_
