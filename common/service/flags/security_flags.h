#ifndef COMMON_SERVICE_FLAGS_SECURITY_FLAGS_H_
#define COMMON_SERVICE_FLAGS_SECURITY_FLAGS_H_

#include "common/rpc/security.h"
#include "common/security/role.h"

namespace galen::rpc {

// The values of --certs, --tls_cert, --tls_key, --tls_ca and --audit_log for a program of this
// role. Linking this file adds the flags.
SecurityOptions SecurityFromFlags(security::Role role);

}  // namespace galen::rpc

#endif  // COMMON_SERVICE_FLAGS_SECURITY_FLAGS_H_
