#ifndef COMMON_OBSERVABILITY_METRICS_NUMBERS_H_
#define COMMON_OBSERVABILITY_METRICS_NUMBERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

// Numbers that are counted where things happen, for little: no lock, and no order among them, so
// that a reader may see one of two that were counted together.
namespace galen::metrics {

// How often something happened. Thread-safe.
class Counter {
 public:
  void Add(std::uint64_t count = 1) { count_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

// A copy of a histogram's numbers: for each bound those at most that large and larger than the one
// before, last those beyond all.
struct Distribution {
  std::vector<double> bounds;  // seconds
  std::vector<std::uint64_t> counts;
  double seconds = 0;  // of all together
};

// How long things took, by upper bounds in seconds. Thread-safe.
template <std::size_t n>
class Times {
 public:
  // `bounds` ascend, and outlive it.
  explicit constexpr Times(const std::array<double, n>& bounds) : bounds_(bounds) {}

  void Add(absl::Duration took) {
    const double seconds = absl::ToDoubleSeconds(took);
    std::size_t place = 0;
    while (place < n && seconds > bounds_[place]) ++place;
    counts_[place].fetch_add(1, std::memory_order_relaxed);
    nanos_.fetch_add(absl::ToInt64Nanoseconds(took), std::memory_order_relaxed);
  }
  void AddTo(Distribution& sum) const {
    if (sum.counts.empty()) {
      sum.bounds.assign(bounds_.begin(), bounds_.end());
      sum.counts.resize(n + 1);
    }
    for (std::size_t i = 0; i <= n; ++i) {
      sum.counts[i] += counts_[i].load(std::memory_order_relaxed);
    }
    sum.seconds += static_cast<double>(nanos_.load(std::memory_order_relaxed)) * 1e-9;
  }
  Distribution Copy() const {
    Distribution copy;
    AddTo(copy);
    return copy;
  }

 private:
  const std::array<double, n>& bounds_;
  std::array<std::atomic<std::uint64_t>, n + 1> counts_{};
  std::atomic<std::int64_t> nanos_ = 0;
};

// Stands for all label values without numbers of their own.
inline constexpr absl::string_view kOther = "(other)";

// Numbers by the value of a label that comes from outside: the first `most` values have their own,
// all others share those of kOther, so that nobody can make series without end. Thread-safe;
// references stay good.
template <typename Numbers>
class ByValue {
 public:
  explicit ByValue(std::size_t most) : most_(most) {}

  Numbers& Of(absl::string_view value) {
    MutexLock lock(mu_);
    auto it = numbers_.find(value);
    if (it == numbers_.end()) {
      if (numbers_.size() >= most_) value = kOther;
      it = numbers_.try_emplace(std::string(value), nullptr).first;
      if (it->second == nullptr) it->second = std::make_unique<Numbers>();
    }
    return *it->second;
  }
  // The values in order, with their numbers.
  std::vector<std::pair<std::string, const Numbers*>> All() const {
    MutexLock lock(mu_);
    std::vector<std::pair<std::string, const Numbers*>> all;
    for (const auto& [value, numbers] : numbers_) all.emplace_back(value, numbers.get());
    return all;
  }

 private:
  const std::size_t most_;
  mutable Mutex mu_;
  std::map<std::string, std::unique_ptr<Numbers>, std::less<>> numbers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_NUMBERS_H_
