#include "services/watch/node_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"

namespace galen::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Execution as the follower sees it: calls that the test answers.
class Calls final : public clients::ExecutionClient {
 public:
  void ResolveNodes(const execution::v1::ResolveNodesRequest&, absl::Time,
                    clients::Done<execution::v1::ResolveNodesResponse>) override {}
  clients::Cancel RunChecks(const execution::v1::RunChecksRequest&, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult>,
                            absl::AnyInvocable<void(absl::Status) &&>) override {
    return clients::NoCancel();
  }
  clients::Cancel WatchNodes(const execution::v1::WatchNodesRequest&,
                             clients::OnMessage<execution::v1::NodeEvent> on_event,
                             absl::AnyInvocable<void(absl::Status) &&> done) override {
    const std::lock_guard<std::mutex> lock(mu_);
    ++made_;
    on_event_ = std::move(on_event);
    done_ = std::move(done);
    changed_.notify_all();
    return [this] { End(absl::CancelledError("hung up")); };
  }
  void WaitForCall(int number) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return made_ >= number; });
  }
  void Tell(execution::v1::NodeEvent event) { on_event_(std::move(event)); }
  void End(absl::Status status) {
    absl::AnyInvocable<void(absl::Status) &&> done;
    {
      const std::lock_guard<std::mutex> lock(mu_);
      done = std::exchange(done_, nullptr);
    }
    if (done) std::move(done)(std::move(status));
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  int made_ = 0;
  clients::OnMessage<execution::v1::NodeEvent> on_event_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
};

TEST(NodeFollower, HandsOnWhatNodesNoticeAndAsksAgainWhenTheCallEnds) {
  const auto store = store::OpenStore(":memory:").value();
  const HotSwap<knowledge::Knowledge> book(std::shared_ptr<const knowledge::Knowledge>(
      knowledge::Load({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}, {}).value()));
  const SystemClock clock{};
  std::mutex mu;
  std::condition_variable changed;
  std::vector<std::string> opened;
  std::vector<std::string> problems;
  HealthEventIntake::Options options;
  options.owner = "one";
  HealthEventIntake intake(
      *store, book, clock,
      [&](const galen::v1::CreateDiagnosisRequest& request) -> absl::StatusOr<std::string> {
        const std::lock_guard<std::mutex> lock(mu);
        const auto& nodes = request.diagnosis().incident().nodes();
        opened.insert(opened.end(), nodes.begin(), nodes.end());
        changed.notify_all();
        return request.request_id();
      },
      options);
  Calls execution;
  {
    NodeFollower follower(execution, intake, [&](const absl::Status& problem) {
      const std::lock_guard<std::mutex> lock(mu);
      problems.emplace_back(problem.message());
    });
    execution.WaitForCall(1);
    execution.End(absl::UnavailableError("away"));
    execution.WaitForCall(2);
    execution::v1::NodeEvent trouble;
    trouble.set_node("b");
    trouble.set_trouble("nothing is heard of it");
    execution.Tell(trouble);
    execution::v1::NodeEvent noticed;
    noticed.set_node("a");
    noticed.set_check("system.kernel_log");
    noticed.mutable_finding()->set_name("xid");
    noticed.mutable_finding()->mutable_event_value()->set_code("79");
    execution.Tell(noticed);
    std::unique_lock<std::mutex> lock(mu);
    changed.wait(lock, [&] { return !opened.empty(); });
  }
  EXPECT_THAT(opened, ElementsAre("a"));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("nothing is heard of the nodes: away")));
}

}  // namespace
}  // namespace galen::watch
