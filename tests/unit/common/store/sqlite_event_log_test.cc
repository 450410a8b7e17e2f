#include "common/store/sqlite_event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::store {
namespace sqlite_event_log_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kName[] = "tenants/acme/diagnoses/one";

class SqliteEventLogTest : public ::testing::Test {
 protected:
  SqliteEventLogTest()
      : directory_(std::filesystem::path(::testing::TempDir()) /
                   absl::StrCat("galen_store_", getpid(), "_",
                                ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        file_((directory_ / "galen.db").string()) {
    std::filesystem::create_directories(directory_);
  }
  ~SqliteEventLogTest() override { std::filesystem::remove_all(directory_); }

  static v1::DiagnosisEvent Created() {
    v1::DiagnosisEvent event;
    event.mutable_created()->set_name(kName);
    return event;
  }
  std::string Content() const {
    std::ifstream in(file_, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
  void Sql(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  const std::filesystem::path directory_;
  const std::string file_;
};

TEST_F(SqliteEventLogTest, KeepsEventsAcrossAReopen) {
  { ASSERT_THAT(SqliteEventLog::Open(file_).value()->Create(Created()), IsOk()); }
  const auto log = SqliteEventLog::Open(file_).value();
  EXPECT_EQ(log->Read(kName, 0, 10).value().at(0).created().name(), kName);
}

TEST_F(SqliteEventLogTest, TwoConnectionsSeeEachOthersEventsAndFenceEachOther) {
  const auto first = SqliteEventLog::Open(file_).value();
  const auto second = SqliteEventLog::Open(file_).value();
  ASSERT_THAT(first->Create(Created()), IsOk());
  const absl::Time now = absl::FromUnixSeconds(1000);
  const Lease old_lease = first->AcquireLease(kName, "a", now, absl::Seconds(1)).value();
  const Lease new_lease =
      second->AcquireLease(kName, "b", now + absl::Seconds(2), absl::Seconds(1)).value();
  ASSERT_THAT(second->Append(new_lease, 1, {Created()}), IsOk());
  EXPECT_THAT(first->Append(old_lease, 2, {Created()}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newest")));
  EXPECT_EQ(first->Read(kName, 0, 10).value().size(), 2u);
}

TEST_F(SqliteEventLogTest, RefusesAFileThatIsNotSqliteAndLeavesItAlone) {
  std::ofstream(file_) << std::string(8192, 'x');
  const std::string before = Content();
  EXPECT_THAT(SqliteEventLog::Open(file_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(file_), HasSubstr("not a store of galen"))));
  EXPECT_EQ(Content(), before);
}

TEST_F(SqliteEventLogTest, RefusesTheDatabaseOfAnotherProgramAndLeavesItAlone) {
  Sql("CREATE TABLE diagnoses (id INTEGER)");
  const std::string before = Content();
  EXPECT_THAT(
      SqliteEventLog::Open(file_),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(file_), HasSubstr("another program"))));
  EXPECT_EQ(Content(), before);
}

TEST_F(SqliteEventLogTest, RefusesANewerFormat) {
  { ASSERT_THAT(SqliteEventLog::Open(file_), IsOk()); }
  Sql("PRAGMA user_version = 99");
  EXPECT_THAT(SqliteEventLog::Open(file_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("format 99")));
}

TEST_F(SqliteEventLogTest, ReportsADamagedFileAsDataLoss) {
  {
    const auto log = SqliteEventLog::Open(file_).value();
    ASSERT_THAT(log->Create(Created()), IsOk());
  }
  std::string damaged = Content();
  ASSERT_GT(damaged.size(), 8192u);
  std::fill(damaged.begin() + 4096, damaged.end(), '\x5a');
  std::ofstream(file_, std::ios::binary) << damaged;
  absl::Status status = SqliteEventLog::Open(file_).status();
  if (status.ok()) status = SqliteEventLog::Open(file_).value()->Read(kName, 0, 10).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(file_), HasSubstr("backup"))));
}

TEST_F(SqliteEventLogTest, ReportsAGapInALogAsDataLoss) {
  {
    const auto log = SqliteEventLog::Open(file_).value();
    ASSERT_THAT(log->Create(Created()), IsOk());
    const Lease lease = log->AcquireLease(kName, "a", absl::UnixEpoch(), absl::Seconds(1)).value();
    ASSERT_THAT(log->Append(lease, 1, {Created(), Created()}), IsOk());
  }
  Sql("DELETE FROM events WHERE sequence = 2");
  EXPECT_THAT(SqliteEventLog::Open(file_).value()->Read(kName, 0, 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("event 2")));
}

TEST_F(SqliteEventLogTest, ReportsAnEventThatIsNoEventAsDataLoss) {
  { ASSERT_THAT(SqliteEventLog::Open(file_).value()->Create(Created()), IsOk()); }
  Sql("UPDATE events SET event = x'ffffff'");
  EXPECT_THAT(SqliteEventLog::Open(file_).value()->Read(kName, 0, 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("event 1")));
}

TEST_F(SqliteEventLogTest, ReportsAMissingDirectoryAsUnavailable) {
  EXPECT_THAT(SqliteEventLog::Open((directory_ / "none" / "galen.db").string()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("create its directory")));
}

TEST_F(SqliteEventLogTest, AWriteThatTheDiskRefusesIsUnavailableAndLosesNothing) {
  const auto log = SqliteEventLog::Open(file_).value();
  ASSERT_THAT(log->Create(Created()), IsOk());
  const Lease lease = log->AcquireLease(kName, "a", absl::UnixEpoch(), absl::Seconds(1)).value();
  v1::DiagnosisEvent large;
  large.mutable_feedback_received()->set_text(std::string(1 << 20, 'x'));

  // A limit on file sizes replaces a full disk: the same writes fail.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 256 * 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THAT(log->Append(lease, 1, {large}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(file_)));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);

  EXPECT_EQ(log->Read(kName, 0, 10).value().size(), 1u);
  EXPECT_EQ(log->Append(lease, 1, {large}).value(), 2);
}

}  // namespace sqlite_event_log_test
}  // namespace galen::store
