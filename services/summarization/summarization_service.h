#ifndef SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_
#define SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_

#include "common/base/executor.h"
#include "galen/summarization/v1/summarization.grpc.pb.h"
#include "services/summarization/summarizer.h"

namespace galen::summarization {

// gRPC adapter over Summarizer: no decisions here, only conversion.
class SummarizationServiceImpl final : public v1::SummarizationService::CallbackService {
 public:
  // Both must outlive the service.
  SummarizationServiceImpl(const Summarizer& summarizer, Executor& executor)
      : summarizer_(summarizer), executor_(executor) {}

  grpc::ServerUnaryReactor* Summarize(grpc::CallbackServerContext* context,
                                      const v1::SummarizeRequest* request,
                                      v1::SummarizeResponse* response) override;

 private:
  const Summarizer& summarizer_;
  Executor& executor_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SUMMARIZATION_SERVICE_H_
