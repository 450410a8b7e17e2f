// A resumed diagnosis does not ask a model anything that its log already answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/reasoner/fake_llm_client.h"
#include "world.h"

namespace galen::cli {
namespace {

using ::galen::testing::AnswerTheDraft;
using ::galen::testing::FakeLlmClient;

// A store whose only diagnosis stopped after these events.
void WriteStore(const std::string& file, const std::vector<v1::DiagnosisEvent>& events,
                std::size_t count) {
  auto log = store::SqliteEventLog::Open(file);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->Create(events[0]).ok());
  if (count == 1) return;
  const auto lease =
      (*log)->AcquireLease(events[0].created().name(), "galen", absl::Now(), absl::Seconds(15));
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE((*log)->Append(*lease, 1, absl::MakeConstSpan(events).subspan(1, count - 1)).ok());
  ASSERT_TRUE((*log)->ReleaseLease(*lease).ok());
}

TEST(Resume, AfterAnyEventAsksOnlyWhatIsNotAnswered) {
  FakeLlmClient undisturbed(AnswerTheDraft);
  World first({.model = reasoner::llm::Model{.client = &undisturbed}});
  const World::Outcome whole = first.Diagnose(World::Incident());
  ASSERT_EQ(whole.diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  ASSERT_EQ(undisturbed.requests().size(), 1u);
  const std::string file = ::testing::TempDir() + absl::StrCat("galen-resume-", getpid(), ".db");
  for (std::size_t count = 1; count < whole.events.size(); ++count) {
    SCOPED_TRACE(absl::StrCat("after ", count, " of ", whole.events.size(), " events"));
    std::multiset<std::string> open;
    for (const auto& request : undisturbed.requests()) open.insert(request.purpose);
    for (std::size_t i = 0; i < count; ++i) {
      for (const v1::Reasoned& reasoned : whole.events[i].reasoned()) {
        open.erase(open.find(reasoned.question()));
      }
    }
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
    WriteStore(file, whole.events, count);
    FakeLlmClient client(AnswerTheDraft);
    World world({.model = reasoner::llm::Model{.client = &client}, .store = file});
    const World::Outcome resumed = world.Follow(whole.diagnosis.name());
    std::multiset<std::string> asked;
    for (const auto& request : client.requests()) asked.insert(request.purpose);
    EXPECT_EQ(asked, open);
    EXPECT_EQ(resumed.diagnosis.report().headline(), whole.diagnosis.report().headline());
    // The account is the same, but for the time: it is folded from the log.
    const auto account = [](v1::Report report) {
      report.mutable_reasoner_spent()->clear_took_millis();
      return report.reasoner_spent().ShortDebugString();
    };
    EXPECT_EQ(account(resumed.diagnosis.report()), account(whole.diagnosis.report()));
    if (HasFailure()) break;
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}

TEST(Resume, TheTenantsDayIsStillThere) {
  const std::string file = ::testing::TempDir() + absl::StrCat("galen-day-", getpid(), ".db");
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  FakeLlmClient client(AnswerTheDraft);
  {
    World world({.model = reasoner::llm::Model{.client = &client}, .store = file});
    world.Diagnose(World::Incident(), "tenants/a");
  }
  auto log = store::SqliteEventLog::Open(file);
  ASSERT_TRUE(log.ok());
  const std::string today = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  // A run over midnight has spent on either day.
  const std::string yesterday =
      absl::FormatTime("%Y-%m-%d", absl::Now() - absl::Hours(24), absl::UTCTimeZone());
  EXPECT_EQ((*log)->SpentOn("tenants/a", today)->calls() +
                (*log)->SpentOn("tenants/a", yesterday)->calls(),
            static_cast<std::int64_t>(client.requests().size()));
  EXPECT_EQ((*log)->SpentOn("tenants/b", today)->calls(), 0);
  log->reset();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}

}  // namespace
}  // namespace galen::cli
