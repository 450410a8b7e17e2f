#include "common/store/sqlite_fresh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/status_matchers.h"

namespace galen::store {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Decoded(absl::string_view records) {
  std::vector<std::string> decoded;
  EXPECT_THAT(DecodeRecords(records,
                            [&](const FreshRecord& record) {
                              decoded.push_back(absl::StrCat(record.diagnosis, "/", record.sequence,
                                                             "=", record.event));
                            }),
              IsOk());
  return decoded;
}

TEST(FreshRecords, AreReadAsTheyWereWritten) {
  std::string records;
  EncodeRecord({1, 2, "one"}, records);
  EncodeRecord({std::int64_t{1} << 40, 300, ""}, records);
  EncodeRecord({3, 1, std::string(3, '\0')}, records);
  EXPECT_THAT(
      Decoded(records),
      ElementsAre("1/2=one", "1099511627776/300=", absl::StrCat("3/1=", std::string(3, '\0'))));
  EXPECT_THAT(Decoded(""), ElementsAre());
}

TEST(FreshRecords, AnyCutOffRowIsRefused) {
  std::string records;
  EncodeRecord({7, 200, "event"}, records);
  for (std::size_t size = 1; size < records.size(); ++size) {
    EXPECT_THAT(DecodeRecords(records.substr(0, size), [](const FreshRecord&) {}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")))
        << size;
  }
}

// Event logs with some fresh events and some that have moved to their place.
class FreshEventsTest : public ::testing::Test {
 protected:
  static constexpr int kDiagnoses = 3;

  FreshEventsTest()
      : directory_(std::filesystem::path(::testing::TempDir()) /
                   absl::StrCat("galen_fresh_", getpid(), "_",
                                ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        file_((directory_ / "galen.db").string()) {
    std::filesystem::create_directories(directory_);
    log_ = SqliteEventLog::Open(file_).value();
    for (int i = 0; i < kDiagnoses; ++i) {
      v1::DiagnosisEvent created;
      created.mutable_created()->set_name(Name(i));
      EXPECT_THAT(log_->Create(created), IsOk());
      leases_.push_back(
          log_->AcquireLease(Name(i), "a", absl::UnixEpoch(), absl::Hours(1)).value());
    }
  }
  ~FreshEventsTest() override {
    log_.reset();
    std::filesystem::remove_all(directory_);
  }

  static std::string Name(int i) { return absl::StrCat("tenants/acme/diagnoses/d", i); }
  static v1::DiagnosisEvent Event(int bytes) {
    v1::DiagnosisEvent event;
    event.mutable_feedback_received()->set_text(std::string(bytes, 'x'));
    return event;
  }
  std::int64_t Count(const std::string& table) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    Statement count;
    EXPECT_THAT(count.Prepare(db, file_, "SELECT count(*) FROM " + table), IsOk());
    std::int64_t rows = -1;
    {
      Statement::Run run(count);
      if (run.Next().value()) rows = run.Int(0);
    }
    sqlite3_close_v2(db);
    return rows;
  }
  // Appends to all logs in turn until the fresh events move; returns the last sequence of each.
  std::int64_t AppendUntilItMoves(std::int64_t last) {
    while (Count("events") == 0) {
      for (const Lease& lease : leases_) {
        EXPECT_EQ(log_->Append(lease, last, {Event(20'000)}).value(), last + 1);
      }
      ++last;
    }
    return last;
  }
  static void ExpectWhole(EventLog& log, int diagnosis, std::int64_t last) {
    for (std::int64_t after = 0; after <= last; ++after) {
      const auto events = log.Read(Name(diagnosis), after, 1000).value();
      ASSERT_EQ(static_cast<std::int64_t>(events.size()), last - after);
      const auto two = log.Read(Name(diagnosis), after, 2).value();
      for (const v1::DiagnosisEvent& event : two) {
        EXPECT_GT(event.sequence(), after);
        EXPECT_LE(event.sequence(), after + 2);
      }
    }
  }

  const std::filesystem::path directory_;
  const std::string file_;
  std::unique_ptr<SqliteEventLog> log_;
  std::vector<Lease> leases_;
};

TEST_F(FreshEventsTest, AreReadInOrderBeforeAndAfterTheyMoveAndWhileSomeHave) {
  for (const Lease& lease : leases_) ASSERT_THAT(log_->Append(lease, 1, {Event(1)}), IsOk());
  EXPECT_EQ(Count("events"), 0);
  ExpectWhole(*log_, 0, 2);
  std::int64_t last = AppendUntilItMoves(2);
  EXPECT_GT(Count("events"), kDiagnoses);
  for (const Lease& lease : leases_) {
    ASSERT_THAT(log_->Append(lease, last, {Event(1), Event(2)}), IsOk());
  }
  last += 2;
  EXPECT_GT(Count("fresh"), 0);
  for (int i = 0; i < kDiagnoses; ++i) ExpectWhole(*log_, i, last);
}

TEST_F(FreshEventsTest, AnotherProcessReadsAndAppendsBehindThem) {
  std::int64_t last = 1;
  auto other = SqliteEventLog::Open(file_).value();
  for (int round = 0; round < 3; ++round) {
    ASSERT_THAT(log_->Append(leases_[0], last, {Event(1)}), IsOk());
    ExpectWhole(*other, 0, last + 1);
    ASSERT_THAT(other->Append(leases_[0], last + 1, {Event(600'000)}), IsOk());
    EXPECT_THAT(log_->Append(leases_[0], last + 1, {Event(1)}),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("")));
    last += 2;
    ExpectWhole(*log_, 0, last);
  }
  EXPECT_GT(Count("events"), 0) << "some moved meanwhile";
  other.reset();
  ASSERT_THAT(log_->Append(leases_[0], last, {Event(1)}), IsOk());
  ExpectWhole(*log_, 0, last + 1);
  ExpectWhole(*log_, 1, 1);
}

TEST_F(FreshEventsTest, AreInTheirPlaceOnceTheFileIsClosed) {
  ASSERT_THAT(log_->Append(leases_[1], 1, {Event(1)}), IsOk());
  EXPECT_EQ(Count("events"), 0);
  log_.reset();
  EXPECT_EQ(Count("events"), 4);
  EXPECT_EQ(Count("fresh"), 0);
  ExpectWhole(*SqliteEventLog::Open(file_).value(), 1, 2);
}

TEST_F(FreshEventsTest, ADamagedRowIsDataLossAndNothingIsAppendedBehindIt) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE fresh SET records = x'ffffff' WHERE id = 2", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const auto other = SqliteEventLog::Open(file_).value();
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(other->Read(Name(0), 0, 10),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(file_), HasSubstr("row 2"))));
    EXPECT_THAT(other->Append(leases_[0], 1, {Event(1)}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  }
}

TEST_F(FreshEventsTest, AFileOfTheFormerFormatGoesOn) {
  log_.reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "DROP TABLE fresh; DROP TABLE fresh_moved; PRAGMA user_version = 1;",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  log_ = SqliteEventLog::Open(file_).value();
  ExpectWhole(*log_, 0, 1);
  ASSERT_THAT(log_->Append(leases_[0], 1, {Event(1)}), IsOk());
  ExpectWhole(*log_, 0, 2);
}

}  // namespace
}  // namespace galen::store
