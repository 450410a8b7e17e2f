#ifndef SERVICES_GATEWAY_CHECKS_CHECK_UPSTREAM_H_
#define SERVICES_GATEWAY_CHECKS_CHECK_UPSTREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "common/clients/clients.h"
#include "services/gateway/api/upstream.h"

namespace galen::gateway {

// Answers CheckService by asking execution, and passes every other call on. Thread-safe.
class CheckUpstream final : public Upstream {
 public:
  // `execution` may be null: then checks are UNIMPLEMENTED here. Both must outlive it.
  CheckUpstream(Upstream& mesh, clients::ExecutionClient* execution);

  clients::Cancel Ask(Call call, clients::Done<Answer> done) override;
  std::shared_ptr<Feed> Follow(
      Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
      absl::AnyInvocable<void(absl::Status) &&> done) override;

 private:
  class Run;

  Upstream& mesh_;
  clients::ExecutionClient* const execution_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_CHECKS_CHECK_UPSTREAM_H_
