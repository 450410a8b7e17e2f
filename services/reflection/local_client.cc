#include "services/reflection/local_client.h"

#include <utility>

namespace galen::reflection {

void LocalReflectionClient::Judge(clients::Shared<v1::JudgeRequest> request, absl::Time deadline,
                                  clients::Done<v1::JudgeResponse> done) {
  clients::CallLocally<v1::JudgeResponse>(
      executor_, "/galen.reflection.v1.ReflectionService/Judge",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(reflector_, [&](const Reflector& current) {
          return current.Judge(*request, deadline);
        });
      },
      std::move(done));
}

void LocalReflectionClient::Critique(clients::Shared<v1::CritiqueRequest> request,
                                     absl::Time deadline,
                                     clients::Done<v1::CritiqueResponse> done) {
  clients::CallLocally<v1::CritiqueResponse>(
      executor_, "/galen.reflection.v1.ReflectionService/Critique",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(reflector_, [&](const Reflector& current) {
          return current.Critique(*request, deadline);
        });
      },
      std::move(done));
}

void LocalReflectionClient::Investigate(clients::Shared<v1::InvestigateRequest> request,
                                        absl::Time deadline,
                                        clients::Done<v1::InvestigateResponse> done) {
  clients::CallLocally<v1::InvestigateResponse>(
      executor_, "/galen.reflection.v1.ReflectionService/Investigate",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(reflector_, [&](const Reflector& current) {
          return current.Investigate(*request, deadline);
        });
      },
      std::move(done));
}

}  // namespace galen::reflection
