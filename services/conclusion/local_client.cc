#include "services/conclusion/local_client.h"

#include <utility>

namespace galen::conclusion {

void LocalConclusionClient::Conclude(clients::Shared<v1::ConcludeRequest> request,
                                     absl::Time deadline,
                                     clients::Done<v1::ConcludeResponse> done) {
  clients::CallLocally<v1::ConcludeResponse>(
      executor_, "/galen.conclusion.v1.ConclusionService/Conclude",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(writer_, [&](const ReportWriter& current) {
          return current.Conclude(*request, deadline);
        });
      },
      std::move(done));
}

}  // namespace galen::conclusion
