#ifndef SERVICES_REFLECTION_LOCAL_CLIENT_H_
#define SERVICES_REFLECTION_LOCAL_CLIENT_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/clients/clients.h"
#include "services/reflection/reflector.h"

namespace galen::reflection {

// Passes calls directly to a Reflector of this process.
class LocalReflectionClient final : public clients::ReflectionClient {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the client and
  // every call in flight.
  LocalReflectionClient(HotSwap<Reflector> reflector, Executor& executor)
      : reflector_(std::move(reflector)), executor_(executor) {}
  void Judge(clients::Shared<v1::JudgeRequest> request, absl::Time deadline,
             clients::Done<v1::JudgeResponse> done) override;
  void Critique(clients::Shared<v1::CritiqueRequest> request, absl::Time deadline,
                clients::Done<v1::CritiqueResponse> done) override;
  void Investigate(clients::Shared<v1::InvestigateRequest> request, absl::Time deadline,
                   clients::Done<v1::InvestigateResponse> done) override;

 private:
  const HotSwap<Reflector> reflector_;
  Executor& executor_;
};

}  // namespace galen::reflection

#endif  // SERVICES_REFLECTION_LOCAL_CLIENT_H_
