#ifndef SERVICES_NODE_CHECK_THREADS_H_
#define SERVICES_NODE_CHECK_THREADS_H_

#include "absl/functional/any_invocable.h"

namespace galen::node {

// Runs `task` on a thread that nobody waits for: the task may hang for ever. A thread that has
// finished its task waits some seconds for the next one, because creating a thread and its
// allocator state takes longer than most checks. Throws std::system_error when no thread is
// available. Thread-safe.
void RunDetached(absl::AnyInvocable<void() &&> task);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECK_THREADS_H_
