#include "services/watch/health_event_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::shared_ptr<const knowledge::Knowledge> TestKnowledge() {
  static const auto book =
      knowledge::Load({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}, {}).value();
  return book;
}

// Replaces the orchestrator: a repeat of a request id is the same diagnosis.
class Diagnoses {
 public:
  absl::StatusOr<std::string> Open(const galen::v1::CreateDiagnosisRequest& request) {
    const std::lock_guard<std::mutex> lock(mu_);
    ++calls_;
    changed_.notify_all();
    if (!refusal_.ok()) return refusal_;
    const auto& nodes = request.diagnosis().incident().nodes();
    opened_.try_emplace(request.request_id(), nodes.begin(), nodes.end());
    return request.request_id();
  }
  void Refuse(absl::Status status) {
    const std::lock_guard<std::mutex> lock(mu_);
    refusal_ = std::move(status);
  }
  void WaitForCalls(int count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return calls_ >= count; });
  }
  // The machines of each, once there are this many diagnoses.
  std::vector<std::vector<std::string>> Wait(std::size_t count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return opened_.size() >= count; });
    std::vector<std::vector<std::string>> all;
    for (auto [id, nodes] : opened_) {
      std::sort(nodes.begin(), nodes.end());
      all.push_back(nodes);
    }
    return all;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  absl::Status refusal_;
  int calls_ = 0;
  std::map<std::string, std::vector<std::string>> opened_;
};

class HealthEventIntakeTest : public ::testing::Test {
 protected:
  std::unique_ptr<HealthEventIntake> Intake(const std::string& owner,
                                            HealthEventIntake::Options options = {}) {
    options.owner = owner;
    options.leader_ttl = absl::Milliseconds(300);
    return std::make_unique<HealthEventIntake>(
        *store_, book_, clock_,
        [this](const galen::v1::CreateDiagnosisRequest& request) {
          return diagnoses_.Open(request);
        },
        options);
  }
  // Waits long enough for consecutive reports of a slow machine.
  static HealthEventIntake::Options Patient() {
    HealthEventIntake::Options options;
    options.correlator.quiet = absl::Seconds(1);
    options.correlator.longest = absl::Seconds(10);
    return options;
  }
  static v1::ReportHealthRequest Xid79(const std::vector<std::string>& nodes) {
    v1::ReportHealthRequest request;
    for (const std::string& node : nodes) {
      v1::HealthEvent& event = *request.add_events();
      event.set_node(node);
      event.set_check("system.kernel_log");
      event.mutable_finding()->set_name("xid");
      event.mutable_finding()->mutable_event_value()->set_code("79");
    }
    return request;
  }
  static absl::StatusOr<std::int64_t> Report(HealthEventIntake& intake,
                                             v1::ReportHealthRequest request) {
    std::promise<absl::StatusOr<std::int64_t>> done;
    intake.Report(std::move(request), [&](absl::StatusOr<std::int64_t> position) {
      done.set_value(std::move(position));
    });
    return done.get_future().get();
  }

  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  const HotSwap<knowledge::Knowledge> book_{TestKnowledge()};
  const SystemClock clock_{};
  Diagnoses diagnoses_;
};

TEST_F(HealthEventIntakeTest, AGraveEventOfManyMachinesOpensOneDiagnosisThatNamesThemAll) {
  const auto intake = Intake("one", Patient());
  EXPECT_THAT(Report(*intake, Xid79({"a", "b"})).status(), IsOk());
  EXPECT_THAT(Report(*intake, Xid79({"c", "a"})).status(), IsOk());
  EXPECT_THAT(diagnoses_.Wait(1), ElementsAre(ElementsAre("a", "b", "c")));
}

TEST_F(HealthEventIntakeTest, WhatIsAcknowledgedStandsInTheStore) {
  const auto intake = Intake("one");
  v1::ReportHealthRequest request = Xid79({"a"});
  request.mutable_events(0)->set_severity(v1::HealthEvent::INFO);
  const std::int64_t position = Report(*intake, request).value();
  const auto entries = store_->journal().Read("watch.events", position - 1, 1).value();
  ASSERT_EQ(entries.size(), 1u);
  v1::HealthRecord record;
  ASSERT_TRUE(record.ParseFromString(entries[0].record));
  EXPECT_EQ(record.events(0).node(), "a");
  EXPECT_TRUE(record.has_received_at());
}

TEST_F(HealthEventIntakeTest, RefusesWhatIsNotUsableAndWhatIsTooMuch) {
  HealthEventIntake::Options options;
  options.most_waiting = 1;
  const auto intake = Intake("one", options);
  EXPECT_THAT(Report(*intake, v1::ReportHealthRequest()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("events")));
  EXPECT_THAT(Report(*intake, Xid79({"a", "b"})).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("wait for the store")));
}

TEST_F(HealthEventIntakeTest, OpensItLaterWhenTheOrchestratorIsAway) {
  diagnoses_.Refuse(absl::UnavailableError("away"));
  const auto intake = Intake("one");
  EXPECT_THAT(Report(*intake, Xid79({"a"})).status(), IsOk());
  diagnoses_.WaitForCalls(2);
  diagnoses_.Refuse(absl::OkStatus());
  EXPECT_THAT(diagnoses_.Wait(1), ElementsAre(ElementsAre("a")));
}

TEST_F(HealthEventIntakeTest, AnIncidentThatIsNeverTakenDoesNotHoldUpTheNext) {
  diagnoses_.Refuse(absl::InvalidArgumentError("no such tenant"));
  const auto intake = Intake("one");
  EXPECT_THAT(Report(*intake, Xid79({"a"})).status(), IsOk());
  diagnoses_.WaitForCalls(1);
  diagnoses_.Refuse(absl::OkStatus());
  EXPECT_THAT(Report(*intake, Xid79({"b"})).status(), IsOk());
  EXPECT_THAT(diagnoses_.Wait(1), ElementsAre(ElementsAre("b")));
}

TEST_F(HealthEventIntakeTest, AnotherDeskGoesOnWhereTheLeaderStopped) {
  auto first = Intake("first");
  EXPECT_THAT(Report(*first, Xid79({"a"})).status(), IsOk());
  EXPECT_EQ(diagnoses_.Wait(1).size(), 1u);
  diagnoses_.Refuse(absl::UnavailableError("away"));
  EXPECT_THAT(Report(*first, Xid79({"b"})).status(), IsOk());
  diagnoses_.WaitForCalls(2);
  first.reset();
  diagnoses_.Refuse(absl::OkStatus());
  const auto second = Intake("second");
  // "a" was reported, "b" was noted but not opened.
  EXPECT_THAT(Report(*second, Xid79({"a"})).status(), IsOk());
  EXPECT_THAT(diagnoses_.Wait(2), UnorderedElementsAre(ElementsAre("a"), ElementsAre("b")));
}

TEST_F(HealthEventIntakeTest, OfManyDesksOneOpensWhatAllWereTold) {
  const auto first = Intake("first", Patient());
  const auto second = Intake("second", Patient());
  EXPECT_THAT(Report(*first, Xid79({"a"})).status(), IsOk());
  EXPECT_THAT(Report(*second, Xid79({"b"})).status(), IsOk());
  EXPECT_THAT(diagnoses_.Wait(1), ElementsAre(ElementsAre("a", "b")));
  EXPECT_NE(first->IsLeader(), second->IsLeader());
}

}  // namespace
}  // namespace galen::watch
