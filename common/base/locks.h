#ifndef COMMON_BASE_LOCKS_H_
#define COMMON_BASE_LOCKS_H_

namespace galen {

// Keeps absl::Mutex, of which gRPC's every call takes dozens, from writing down in which order
// locks are taken. Distributions build Abseil without NDEBUG, where it does so to abort a program
// that might deadlock: about 7 % of the processor's time of a call. Call it in main() before any
// thread is made. Not in tests, which are to find such an order.
void ForgetLockOrders();

}  // namespace galen

#endif  // COMMON_BASE_LOCKS_H_
