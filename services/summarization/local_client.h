#ifndef SERVICES_SUMMARIZATION_LOCAL_CLIENT_H_
#define SERVICES_SUMMARIZATION_LOCAL_CLIENT_H_

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/clients/clients.h"
#include "services/summarization/summarizer.h"

namespace galen::summarization {

// Passes calls directly to a Summarizer of this process.
class LocalSummarizationClient final : public clients::SummarizationClient {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the client and
  // every call in flight.
  LocalSummarizationClient(HotSwap<Summarizer> summarizer, Executor& executor);
  void Summarize(const v1::SummarizeRequest& request, absl::Time deadline,
                 clients::Done<v1::SummarizeResponse> done) override;
  void Look(clients::Shared<v1::LookRequest> request, absl::Time deadline,
            clients::Done<v1::LookResponse> done) override;

 private:
  const HotSwap<Summarizer> summarizer_;
  Executor& executor_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LOCAL_CLIENT_H_
