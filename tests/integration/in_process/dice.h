#ifndef TESTS_INTEGRATION_IN_PROCESS_DICE_H_
#define TESTS_INTEGRATION_IN_PROCESS_DICE_H_

#include <atomic>
#include <cstdint>
#include <random>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::in_process {

// Chance from a seed, for threads that share it. Thread-safe.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  // True with this probability; always false after Calm().
  bool Falls(double percent) {
    if (calm_) return false;
    MutexLock lock(mu_);
    return std::uniform_real_distribution<double>(0, 100)(random_) < percent;
  }
  // 0 to `below` - 1.
  int Pick(int below) {
    MutexLock lock(mu_);
    return std::uniform_int_distribution<int>(0, below - 1)(random_);
  }
  void Calm() { calm_ = true; }

 private:
  std::atomic<bool> calm_ = false;
  Mutex mu_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::in_process

#endif  // TESTS_INTEGRATION_IN_PROCESS_DICE_H_
