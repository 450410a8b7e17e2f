#include "services/summarization/summarization_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/status.h"
#include "fakes.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"

namespace galen::summarization {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<v1::SummarizeResponse> Call(const v1::SummarizeRequest& request) {
  const auto scanner = SmallCatalogue();
  const FakeReasoner reasoner;
  const SystemClock clock;
  const Summarizer summarizer(*scanner, reasoner, clock, {});
  ThreadPool executor(/*threads=*/1, /*max_queued=*/1);
  SummarizationServiceImpl service(summarizer, executor);
  testing::InProcessServer server(service);
  v1::SummarizeResponse response;
  grpc::ClientContext context;
  const grpc::Status status =
      v1::SummarizationService::NewStub(server.channel())->Summarize(&context, request, &response);
  if (!status.ok()) return rpc::FromGrpcStatus(status);
  return response;
}

TEST(SummarizationService, AnswersOverGrpc) {
  v1::SummarizeRequest request;
  request.mutable_incident()->set_description("training is slow");
  const auto response = Call(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->summary().signals_size(), 1);
}

TEST(SummarizationService, AnEmptyIncidentReachesTheCallerAsInvalidArgument) {
  EXPECT_THAT(Call({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("incident.description: empty")));
}

}  // namespace
}  // namespace galen::summarization
