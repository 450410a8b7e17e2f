#include "common/store/sqlite_group_commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <cstddef>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::store {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;

constexpr auto kSynchronous = GroupCommit::Durability::kSynchronous;

class GroupCommitTest : public ::testing::Test {
 protected:
  GroupCommitTest() {
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    EXPECT_THAT(Execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)"), IsOk());
    EXPECT_THAT(group_->Open(db_, &connection_, "a file", {}), IsOk());
    sqlite3_commit_hook(
        db_,
        [](void* self) {
          auto& test = *static_cast<GroupCommitTest*>(self);
          ++test.commits_;
          return test.disk_is_full_ ? 1 : 0;
        },
        this);
  }
  ~GroupCommitTest() override {
    group_.reset();  // its statements, before their connection
    sqlite3_close(db_);
  }

  absl::Status Execute(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db_, code, "a file");
  }
  absl::Status Insert(int number) {
    return Execute(absl::StrCat("INSERT INTO numbers VALUES (", number, ")"));
  }
  std::vector<int> Numbers() {
    std::vector<int> numbers;
    sqlite3_exec(
        db_, "SELECT number FROM numbers ORDER BY number",
        [](void* into, int, char** values, char**) {
          static_cast<std::vector<int>*>(into)->push_back(std::stoi(values[0]));
          return 0;
        },
        &numbers, nullptr);
    return numbers;
  }

  // Runs the works in one transaction: they gather while another one is under way.
  std::vector<absl::Status> RunTogether(
      const std::vector<absl::FunctionRef<absl::Status()>>& works) {
    std::vector<absl::Status> statuses(works.size());
    std::vector<std::thread> threads;
    EXPECT_THAT(group_->Write(kSynchronous,
                              [&] {
                                for (std::size_t i = 0; i < works.size(); ++i) {
                                  threads.emplace_back([&, i] {
                                    statuses[i] = group_->Write(kSynchronous, works[i]);
                                  });
                                }
                                while (group_->waiting() < works.size()) std::this_thread::yield();
                                commits_ = -1;  // this one's own does not count
                                return absl::OkStatus();
                              }),
                IsOk());
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }

  sqlite3* db_ = nullptr;
  Mutex connection_;
  std::optional<GroupCommit> group_{std::in_place};
  std::atomic<int> commits_ = 0;
  std::atomic<bool> disk_is_full_ = false;
};

TEST_F(GroupCommitTest, WritesThatGatherAreOneTransaction) {
  const auto one = [&] { return Insert(1); };
  const auto two = [&] { return Insert(2); };
  const auto three = [&] { return Insert(3); };
  EXPECT_THAT(RunTogether({one, two, three}), ElementsAre(IsOk(), IsOk(), IsOk()));
  EXPECT_EQ(commits_, 1);
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 3));
}

TEST_F(GroupCommitTest, WhatIsWrittenLaterGathersWithWhatIsWaitedFor) {
  std::vector<absl::Status> later(2, absl::UnknownError("none"));
  std::latch answered(2);
  std::thread waits;
  EXPECT_THAT(group_->Write(kSynchronous,
                            [&] {
                              for (int i = 0; i < 2; ++i) {
                                group_->WriteLater(
                                    kSynchronous, [this, i] { return Insert(i); },
                                    [&later, &answered, i](absl::Status status) {
                                      later[i] = std::move(status);
                                      answered.count_down();
                                    });
                              }
                              waits = std::thread([&] {
                                EXPECT_THAT(group_->Write(kSynchronous, [&] { return Insert(1); }),
                                            StatusIs(absl::StatusCode::kUnavailable,
                                                     ::testing::HasSubstr("UNIQUE")));
                              });
                              while (group_->waiting() < 3) std::this_thread::yield();
                              commits_ = -1;
                              return absl::OkStatus();
                            }),
              IsOk());
  answered.wait();
  waits.join();
  EXPECT_THAT(later, ElementsAre(IsOk(), IsOk()));
  EXPECT_EQ(commits_, 1) << "all in one";
  EXPECT_THAT(Numbers(), ElementsAre(0, 1));
}

TEST_F(GroupCommitTest, WritesWhatIsLeftBeforeItGoes) {
  std::atomic<int> answered = 0;
  for (int i = 0; i < 100; ++i) {
    group_->WriteLater(
        kSynchronous, [this, i] { return Insert(i); },
        [&answered](absl::Status status) {
          EXPECT_THAT(status, IsOk());
          ++answered;
        });
  }
  group_.reset();
  EXPECT_EQ(answered, 100);
  EXPECT_EQ(Numbers().size(), 100u);
}

TEST_F(GroupCommitTest, WhatOneRefusesIsTakenBackAloneEvenWhatItWrote) {
  const auto one = [&] { return Insert(1); };
  const auto refuses = [&] {
    EXPECT_THAT(Insert(2), IsOk());
    return absl::AbortedError("no");
  };
  const auto three = [&] { return Insert(3); };
  EXPECT_THAT(RunTogether({one, refuses, three}),
              ElementsAre(IsOk(), StatusIs(absl::StatusCode::kAborted, "no"), IsOk()));
  EXPECT_THAT(Numbers(), ElementsAre(1, 3));
}

TEST_F(GroupCommitTest, NothingIsAcknowledgedWhenTheTransactionFails) {
  const auto one = [&] { return Insert(1); };
  const auto refuses = [&] { return absl::AbortedError("no"); };
  const auto fails = [&] {
    disk_is_full_ = true;
    return Insert(3);
  };
  const std::vector<absl::Status> statuses = RunTogether({one, refuses, fails});
  EXPECT_FALSE(statuses[0].ok());
  EXPECT_THAT(statuses[1], StatusIs(absl::StatusCode::kAborted, "no"));
  EXPECT_FALSE(statuses[2].ok());
  disk_is_full_ = false;
  EXPECT_THAT(Numbers(), ElementsAre());
  EXPECT_THAT(group_->Write(kSynchronous, one), IsOk()) << "and the next one is as ever";
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(GroupCommitTest, AnErrorThatEndsTheTransactionFailsAllOfIt) {
  const auto one = [&] { return Insert(1); };
  const auto ends = [&] {
    EXPECT_THAT(Execute("ROLLBACK"), IsOk());  // as SQLite does where the disk is full
    return absl::OkStatus();
  };
  const auto three = [&] { return Insert(3); };
  for (const absl::Status& status : RunTogether({one, ends, three})) EXPECT_FALSE(status.ok());
  EXPECT_THAT(Numbers(), ElementsAre());
}

TEST_F(GroupCommitTest, AWriteAloneThatRefusesLeavesNothing) {
  EXPECT_THAT(group_->Write(kSynchronous,
                            [&] {
                              EXPECT_THAT(Insert(1), IsOk());
                              return absl::AbortedError("no");
                            }),
              StatusIs(absl::StatusCode::kAborted, "no"));
  EXPECT_THAT(Numbers(), ElementsAre());
}

}  // namespace
}  // namespace galen::store
