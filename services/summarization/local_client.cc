#include "services/summarization/local_client.h"

#include <utility>

namespace galen::summarization {

LocalSummarizationClient::LocalSummarizationClient(HotSwap<Summarizer> summarizer,
                                                   Executor& executor)
    : summarizer_(std::move(summarizer)), executor_(executor) {}

void LocalSummarizationClient::Summarize(const v1::SummarizeRequest& request, absl::Time deadline,
                                         clients::Done<v1::SummarizeResponse> done) {
  clients::CallLocally<v1::SummarizeResponse>(
      executor_, "/galen.summarization.v1.SummarizationService/Summarize",
      [this, request, deadline] {
        return CallWithFallback(summarizer_, [&](const Summarizer& current) {
          return current.Summarize(request, deadline);
        });
      },
      std::move(done));
}

void LocalSummarizationClient::Look(clients::Shared<v1::LookRequest> request, absl::Time deadline,
                                    clients::Done<v1::LookResponse> done) {
  clients::CallLocally<v1::LookResponse>(
      executor_, "/galen.summarization.v1.SummarizationService/Look",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(summarizer_, [&](const Summarizer& current) {
          return current.Look(*request, deadline);
        });
      },
      std::move(done));
}

}  // namespace galen::summarization
