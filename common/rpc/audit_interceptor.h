#ifndef COMMON_RPC_AUDIT_INTERCEPTOR_H_
#define COMMON_RPC_AUDIT_INTERCEPTOR_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "common/security/audit/audit_log.h"

namespace galen::rpc {

// Writes one record of every call that was let in, when it ends; those that were refused are
// written by the Authorizer. Health checks are left out: a probe every few seconds would bury the
// rest. `audit` must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeAuditInterceptors(
    security::AuditLog& audit);

}  // namespace galen::rpc

#endif  // COMMON_RPC_AUDIT_INTERCEPTOR_H_
