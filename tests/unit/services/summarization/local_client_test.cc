#include "services/summarization/local_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "fakes.h"
#include "tests/testing/status_matchers.h"

namespace galen::summarization {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<v1::SummarizeResponse> Call(const v1::SummarizeRequest& request,
                                           absl::Time deadline) {
  const auto scanner = SmallCatalogue();
  const FakeReasoner reasoner;
  const SystemClock clock;
  const Summarizer summarizer(*scanner, reasoner, clock, {});
  std::promise<absl::StatusOr<v1::SummarizeResponse>> answer;
  ThreadPool executor(/*threads=*/1, /*max_queued=*/1);
  LocalSummarizationClient client(summarizer, executor);
  client.Summarize(request, deadline, [&](absl::StatusOr<v1::SummarizeResponse> response) {
    answer.set_value(std::move(response));
  });
  return answer.get_future().get();
}

TEST(LocalSummarizationClient, AnswersFromTheServiceOfThisProcess) {
  v1::SummarizeRequest request;
  request.mutable_incident()->set_description("slow");
  const auto response = Call(request, absl::InfiniteFuture());
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->summary().signals_size(), 1);
}

TEST(LocalSummarizationClient, EndsACallWhoseDeadlineHasPassed) {
  v1::SummarizeRequest request;
  request.mutable_incident()->set_description("slow");
  EXPECT_THAT(Call(request, absl::UnixEpoch()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no time")));
}

}  // namespace
}  // namespace galen::summarization
