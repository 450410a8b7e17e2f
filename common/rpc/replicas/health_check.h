#ifndef COMMON_RPC_REPLICAS_HEALTH_CHECK_H_
#define COMMON_RPC_REPLICAS_HEALTH_CHECK_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/rpc/replicas/picker.h"

namespace grpc {
class Channel;
}

namespace galen::rpc {

// One question "do you serve?" by the gRPC health protocol (grpc.health.v1.Health/Check).
class HealthCheck {
 public:
  // `done` is called once, on a gRPC thread: kServing, kNotServing, or kUnreachable when there was
  // no answer within `limit`. A server that does not know the protocol serves. The check must
  // outlive the call of `done`, and keeps the channel no longer than to it.
  HealthCheck(const std::shared_ptr<grpc::Channel>& channel, absl::Duration limit,
              absl::AnyInvocable<void(Picker::Health) &&> done);
  ~HealthCheck();
  // Ends it early.
  void Cancel();

 private:
  struct Parts;
  const std::shared_ptr<Parts> parts_;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_REPLICAS_HEALTH_CHECK_H_
