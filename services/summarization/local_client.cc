#include "services/summarization/local_client.h"

#include <utility>

namespace galen::summarization {

LocalSummarizationClient::LocalSummarizationClient(Current<Summarizer> summarizer,
                                                   Executor& executor)
    : summarizer_(std::move(summarizer)), executor_(executor) {}

void LocalSummarizationClient::Summarize(const v1::SummarizeRequest& request, absl::Time deadline,
                                         clients::Done<v1::SummarizeResponse> done) {
  clients::CallLocally<v1::SummarizeResponse>(
      executor_, "/galen.summarization.v1.SummarizationService/Summarize",
      [this, request, deadline] {
        return AskNewest(summarizer_, [&](const Summarizer& current) {
          return current.Summarize(request, deadline);
        });
      },
      std::move(done));
}

}  // namespace galen::summarization
