#include "services/planning/planning_service.h"

#include <gmock/gmock.h>

#include "common/rpc/status.h"
#include "tests/testing/reasoner/fake_reasoner.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"

namespace galen::planning {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PlanningService, CarriesAnswersAndErrors) {
  knowledge::v1::KnowledgeBase base;
  base.add_labels()->set_label("GPU");
  const knowledge::Knowledge knowledge(base);
  testing::FakeReasoner reasoner;
  reasoner.rank->add_ranked()->set_label("GPU");
  const Planner planner(knowledge, reasoner);
  ThreadPool executor(/*threads=*/1, /*max_queued=*/4);
  PlanningServiceImpl service(planner, executor);
  testing::InProcessServer server(service);
  const auto stub = v1::PlanningService::NewStub(server.channel());
  v1::RankChildrenRequest request;
  v1::RankChildrenResponse response;
  grpc::ClientContext first;
  EXPECT_TRUE(stub->RankChildren(&first, request, &response).ok());
  EXPECT_EQ(response.children_size(), 1);
  request.set_label("NO.SUCH");
  grpc::ClientContext second;
  EXPECT_THAT(rpc::FromGrpcStatus(stub->RankChildren(&second, request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NO.SUCH")));
}

}  // namespace
}  // namespace galen::planning
