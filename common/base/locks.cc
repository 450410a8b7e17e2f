#include "common/base/locks.h"

#include "absl/synchronization/mutex.h"

namespace galen {

void ForgetLockOrders() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace galen
