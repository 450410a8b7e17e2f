// A store that never takes some event: one that is too large for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::testing::HasSubstr;

// Takes no event of one kind.
class RefusingEventLog final : public store::EventLog {
 public:
  RefusingEventLog(store::EventLog& real, v1::DiagnosisEvent::EventCase refused)
      : real_(real), refused_(refused) {}

  absl::StatusOr<std::int64_t> Append(const store::Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override {
    for (const v1::DiagnosisEvent& event : events) {
      if (event.event_case() == refused_) return absl::InvalidArgumentError("event 9: too large");
    }
    return real_.Append(lease, expected_last, events);
  }
  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override {
    return real_.Create(event);
  }
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name, std::int64_t after,
                                                       int limit) override {
    return real_.Read(name, after, limit);
  }
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override {
    return real_.List(parent, page_size, page_token);
  }
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override {
    return real_.ListOrphans(now);
  }
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) override {
    return real_.SetOver(name, last_sequence);
  }
  absl::StatusOr<store::Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                            absl::Time now, absl::Duration ttl) override {
    return real_.AcquireLease(name, owner, now, ttl);
  }
  absl::Status ReleaseLease(const store::Lease& lease) override {
    return real_.ReleaseLease(lease);
  }
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override {
    return real_.SpentOn(parent, day);
  }
  absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                    int limit) override {
    return real_.ListOldest(parent, position, limit);
  }
  absl::Status Delete(const store::Lease& lease, std::int64_t expected_last,
                      absl::Time now) override {
    return real_.Delete(lease, expected_last, now);
  }
  absl::Status FinishDeletion(absl::string_view name) override {
    return real_.FinishDeletion(name);
  }

 private:
  store::EventLog& real_;
  const v1::DiagnosisEvent::EventCase refused_;
};

TEST(RefusedEvent, EndsTheDiagnosisAndSaysWhy) {
  for (const auto refused : {v1::DiagnosisEvent::kSummarized, v1::DiagnosisEvent::kCheckCompleted,
                             v1::DiagnosisEvent::kConcluded}) {
    const auto real = store::SqliteEventLog::Open(":memory:").value();
    RefusingEventLog log(*real, refused);
    FakeAgents world;
    MakeTieredWorld(world);
    const FakeClock clock;
    ManualExecutor executor;
    Options options;
    options.own_timer = false;
    Orchestrator orchestrator(log, world.agents(), clock, executor, options);
    ASSERT_THAT(orchestrator.Start(), IsOk());
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/t");
    request.set_diagnosis_id("d");
    request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
    ASSERT_THAT(orchestrator.Create(request), IsOk());
    executor.RunAll();
    v1::GetDiagnosisRequest get;
    get.set_name("tenants/t/diagnoses/d");
    const v1::Diagnosis diagnosis = orchestrator.Get(get).value();
    EXPECT_EQ(diagnosis.state(), v1::Diagnosis::FAILED);
    EXPECT_THAT(diagnosis.error().message(), HasSubstr("event 9: too large"));
    EXPECT_THAT(real->ListOrphans(absl::InfiniteFuture()).value(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace galen::orchestrator
