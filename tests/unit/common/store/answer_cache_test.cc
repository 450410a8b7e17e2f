#include "common/store/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/status_matchers.h"

namespace galen::store {
namespace {

using ::galen::testing::IsOk;

class AnswerCacheTest : public ::testing::Test {
 protected:
  AnswerCacheTest()
      : file_(::testing::TempDir() +
              absl::StrCat("galen-answers-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    Remove();
  }
  ~AnswerCacheTest() override { Remove(); }
  void Remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
  }
  std::unique_ptr<SqliteAnswerCache> Open(std::size_t most) const {
    auto cache = SqliteAnswerCache::Open(file_, most);
    EXPECT_THAT(cache, IsOk());
    return *std::move(cache);
  }
  const std::string file_;
};

TEST_F(AnswerCacheTest, GivesBackWhatWasPutAndNothingElse) {
  MemoryAnswerCache memory(10);
  const auto file = Open(10);
  for (AnswerCache* cache :
       {static_cast<AnswerCache*>(&memory), static_cast<AnswerCache*>(&*file)}) {
    EXPECT_EQ(cache->Get("d1"), std::nullopt);
    const std::string answer("{\"a\": \"\0\xff\"}", 11);
    cache->Put("d1", answer);
    EXPECT_EQ(cache->Get("d1"), answer);
    cache->Put("d1", "newer");
    EXPECT_EQ(cache->Get("d1"), "newer");
    EXPECT_EQ(cache->Get("d2"), std::nullopt);
  }
}

TEST_F(AnswerCacheTest, TheOldestGoesFirst) {
  MemoryAnswerCache memory(2);
  const auto file = Open(2);
  for (AnswerCache* cache :
       {static_cast<AnswerCache*>(&memory), static_cast<AnswerCache*>(&*file)}) {
    for (const char* digest : {"d1", "d2", "d3"}) cache->Put(digest, digest);
    EXPECT_EQ(cache->Get("d1"), std::nullopt);
    EXPECT_EQ(cache->Get("d2"), "d2");
    EXPECT_EQ(cache->Get("d3"), "d3");
  }
}

TEST_F(AnswerCacheTest, AFileOutlivesItsProcessAndIsShared) {
  const auto first = Open(10);
  const auto second = Open(10);
  first->Put("d1", "one");
  EXPECT_EQ(second->Get("d1"), "one");
  EXPECT_EQ(Open(10)->Get("d1"), "one");
}

TEST_F(AnswerCacheTest, LeavesTheFilesOfOthersAlone) {
  { EXPECT_THAT(SqliteEventLog::Open(file_), IsOk()); }
  EXPECT_TRUE(absl::IsDataLoss(SqliteAnswerCache::Open(file_, 10).status()));
  EXPECT_THAT(SqliteEventLog::Open(file_), IsOk());
  Remove();
  std::ofstream(file_) << "no database at all, but long enough to be looked at";
  EXPECT_FALSE(SqliteAnswerCache::Open(file_, 10).ok());
}

TEST_F(AnswerCacheTest, IsUsedByManyThreads) {
  MemoryAnswerCache memory(50);
  const auto file = Open(50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string digest = absl::StrCat("d", i % 10);
        for (AnswerCache* cache :
             {static_cast<AnswerCache*>(&memory), static_cast<AnswerCache*>(&*file)}) {
          cache->Put(digest, digest);
          const auto got = cache->Get(digest);
          EXPECT_TRUE(!got.has_value() || *got == digest) << t;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace galen::store
