#ifndef COMMON_CLIENTS_GRPC_CLIENTS_H_
#define COMMON_CLIENTS_GRPC_CLIENTS_H_

#include <functional>
#include <memory>
#include <string>

#include "common/clients/clients.h"

namespace grpc {
class Channel;
}
namespace galen::rpc {
class Replicas;
}

// The clients of clients.h over gRPC. A call goes to one of the replicas; where it does not reach
// that one, once more to another one, but for a stream that has given something
// already. Callbacks run on gRPC's threads. A client outlives its calls,
// and no callback destroys one: a thread of gRPC's own that gives up a channel last waits for
// itself (gRPC 1.51 aborts).
namespace galen::clients {

std::unique_ptr<SummarizationClient> MakeGrpcSummarizationClient(std::unique_ptr<rpc::Replicas>);
std::unique_ptr<PlanningClient> MakeGrpcPlanningClient(std::unique_ptr<rpc::Replicas>);
// The claim to send with a call for `diagnosis` (rpc::Security::ClaimFor()); "": none.
using ClaimFor = std::function<std::string(const std::string& diagnosis)>;
std::unique_ptr<ExecutionClient> MakeGrpcExecutionClient(std::unique_ptr<rpc::Replicas>,
                                                         ClaimFor claim_for = nullptr);
std::unique_ptr<RegistrationClient> MakeGrpcRegistrationClient(std::shared_ptr<grpc::Channel>);
// A node is one machine: nobody else can answer for it.
std::unique_ptr<NodeClient> MakeGrpcNodeClient(std::shared_ptr<grpc::Channel>);
std::unique_ptr<ReflectionClient> MakeGrpcReflectionClient(std::unique_ptr<rpc::Replicas>);
std::unique_ptr<ConclusionClient> MakeGrpcConclusionClient(std::unique_ptr<rpc::Replicas>);

}  // namespace galen::clients

#endif  // COMMON_CLIENTS_GRPC_CLIENTS_H_
