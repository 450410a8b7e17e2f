#ifndef COMMON_BASE_HOT_SWAP_H_
#define COMMON_BASE_HOT_SWAP_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"

namespace galen {

// An immutable value that is replaced by a newer one while others use it: users of the older one
// keep it until they release it. Copies share the current value. Thread-safe.
template <typename T>
class HotSwap {
 public:
  // A value that is never replaced; it must outlive all copies. Implicit, so that callers can pass
  // a plain value.
  HotSwap(const T& value)  // NOLINT(google-explicit-constructor)
      : HotSwap(std::shared_ptr<const T>(std::shared_ptr<const T>(), &value)) {}
  explicit HotSwap(std::shared_ptr<const T> value) : state_(std::make_shared<State>()) {
    MutexLock lock(state_->mu);
    state_->value = std::move(value);
  }

  std::shared_ptr<const T> Get() const {
    MutexLock lock(state_->mu);
    return state_->value;
  }
  // The one before the last Set(); null when there was none.
  std::shared_ptr<const T> Before() const {
    MutexLock lock(state_->mu);
    return state_->before;
  }

  void Set(std::shared_ptr<const T> value) {
    std::shared_ptr<const T> freed;  // outside the lock
    MutexLock lock(state_->mu);
    freed = std::move(state_->before);
    state_->before = std::exchange(state_->value, std::move(value));
  }

 private:
  struct State {
    Mutex mu;
    std::shared_ptr<const T> value ABSL_GUARDED_BY(mu);
    std::shared_ptr<const T> before ABSL_GUARDED_BY(mu);
  };
  std::shared_ptr<State> state_;
};

// Asks the current value; and where it refuses with INVALID_ARGUMENT, the one before it, which may
// still know what the question is about: a diagnosis that began before a label was taken out is
// carried through. `ask` gives a StatusOr.
template <typename T, typename Ask>
auto CallWithFallback(const HotSwap<T>& current, Ask ask) {
  auto answer = ask(*current.Get());
  if (!absl::IsInvalidArgument(answer.status())) return answer;
  if (const std::shared_ptr<const T> before = current.Before(); before != nullptr) {
    if (auto earlier = ask(*before); earlier.ok()) return earlier;
  }
  return answer;
}

}  // namespace galen

#endif  // COMMON_BASE_HOT_SWAP_H_
