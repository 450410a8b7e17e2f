#ifndef SERVICES_GATEWAY_UPSTREAM_GRPC_UPSTREAM_H_
#define SERVICES_GATEWAY_UPSTREAM_GRPC_UPSTREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "common/rpc/replicas/replicas.h"
#include "services/gateway/api/upstream.h"

namespace galen::gateway {

// The claim to send with a call about `resource` (rpc::Security::ClaimFor()); "": none.
using ClaimFor = std::function<std::string(const std::string& resource)>;

// Calls over gRPC, by the name of the method: no stub of a service is needed. Each goes to one of
// the replicas; one that may be sent again and did not arrive goes to another replica, once. The
// destructor waits for the end of its calls.
std::unique_ptr<Upstream> MakeGrpcUpstream(std::unique_ptr<rpc::Replicas> replicas,
                                           ClaimFor claim_for);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPSTREAM_GRPC_UPSTREAM_H_
