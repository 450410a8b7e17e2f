#ifndef COMMON_SECURITY_LOOPBACK_H_
#define COMMON_SECURITY_LOOPBACK_H_

#include "absl/strings/string_view.h"

namespace galen::security {

// Whether a gRPC address or target can only be this machine: 127.0.0.0/8, ::1 (also in brackets),
// the name localhost, each with or without a port, and Unix sockets. Decided by its text: another
// name is not resolved, since its address may change. In a list of targets every one must be
// loopback.
bool IsLoopback(absl::string_view address);

}  // namespace galen::security

#endif  // COMMON_SECURITY_LOOPBACK_H_
