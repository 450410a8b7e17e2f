#ifndef SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_
#define SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "galen/summarization/v1/summarization.grpc.pb.h"
#include "services/summarization/summarizer.h"

namespace galen::summarization {

// gRPC adapter over Summarizer: no decisions here, only conversion.
class SummarizationServiceImpl final : public v1::SummarizationService::CallbackService {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the service.
  SummarizationServiceImpl(HotSwap<Summarizer> summarizer, Executor& executor)
      : summarizer_(std::move(summarizer)), executor_(executor) {}

  grpc::ServerUnaryReactor* Summarize(grpc::CallbackServerContext* context,
                                      const v1::SummarizeRequest* request,
                                      v1::SummarizeResponse* response) override;
  grpc::ServerUnaryReactor* Look(grpc::CallbackServerContext* context,
                                 const v1::LookRequest* request,
                                 v1::LookResponse* response) override;

 private:
  const HotSwap<Summarizer> summarizer_;
  Executor& executor_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_
