#ifndef SERVICES_CONCLUSION_LOCAL_CLIENT_H_
#define SERVICES_CONCLUSION_LOCAL_CLIENT_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/clients/clients.h"
#include "services/conclusion/report_writer.h"

namespace galen::conclusion {

// Passes calls directly to a ReportWriter of this process.
class LocalConclusionClient final : public clients::ConclusionClient {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the client and
  // every call in flight.
  LocalConclusionClient(HotSwap<ReportWriter> writer, Executor& executor)
      : writer_(std::move(writer)), executor_(executor) {}
  void Conclude(clients::Shared<v1::ConcludeRequest> request, absl::Time deadline,
                clients::Done<v1::ConcludeResponse> done) override;

 private:
  const HotSwap<ReportWriter> writer_;
  Executor& executor_;
};

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_LOCAL_CLIENT_H_
