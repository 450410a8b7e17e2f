#include "common/log_analysis/scan/pattern_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "common/log_analysis/scan/pattern_cache.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_scan {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<Expression> kExpressions = {{"NCCL WARN", "one"}, {"^Xid", "two"}};

std::set<std::size_t> Found(const PatternDatabase& database, absl::string_view text) {
  std::set<std::size_t> found;
  PatternDatabase::Scratch scratch = database.NewScratch();
  database.Scan(text, scratch, [&](std::size_t index, std::size_t) { found.insert(index); });
  return found;
}

class PatternCache : public ::testing::Test {
 protected:
  PatternCache() {
    directory_ = ::testing::TempDir() + "pattern_cache_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
  }
  ~PatternCache() override { std::filesystem::remove_all(directory_); }

  std::string OnlyFile() const {
    return std::filesystem::directory_iterator(directory_)->path().string();
  }

  std::string directory_;
};

TEST(PatternDatabase, NamesTheExpressionThatDoesNotCompile) {
  EXPECT_THAT(
      PatternDatabase::Create({{"fine", "a"}, {"(open", "signals/x.yaml:7: b"}}, "").status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("signals/x.yaml:7: b"), HasSubstr("does not compile"))));
}

TEST(PatternDatabase, RefusesAnExpressionThatMatchesNothingAtAll) {
  EXPECT_THAT(PatternDatabase::Create({{"a*", "empty"}}, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

TEST(PatternDatabase, OfNoExpressionsFindsNothing) {
  const auto database = PatternDatabase::Create({}, "");
  ASSERT_THAT(database, IsOk());
  EXPECT_TRUE(Found(**database, "NCCL WARN").empty());
}

TEST_F(PatternCache, GivesTheNextProcessTheSameDatabase) {
  const auto first = PatternDatabase::Create(kExpressions, directory_);
  const auto second = PatternDatabase::Create(kExpressions, directory_);
  ASSERT_THAT(second, IsOk());
  EXPECT_FALSE((*first)->from_cache());
  EXPECT_TRUE((*second)->from_cache());
  EXPECT_EQ(Found(**second, "x\nXid NCCL WARN"), (std::set<std::size_t>{0, 1}));
}

TEST_F(PatternCache, IsNotUsedForOtherPatterns) {
  ASSERT_THAT(PatternDatabase::Create(kExpressions, directory_), IsOk());
  const auto other = PatternDatabase::Create({{"other", "x"}}, directory_);
  ASSERT_THAT(other, IsOk());
  EXPECT_FALSE((*other)->from_cache());
}

TEST_F(PatternCache, WhenDamagedAnywhereIsReplaced) {
  ASSERT_THAT(PatternDatabase::Create(kExpressions, directory_), IsOk());
  const std::string path = OnlyFile();
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  for (const std::streamoff offset : {std::streamoff{0}, size / 2, size - 1}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(offset);
    file.put(byte);
    file.close();
    const auto rebuilt = PatternDatabase::Create(kExpressions, directory_);
    ASSERT_THAT(rebuilt, IsOk());
    EXPECT_FALSE((*rebuilt)->from_cache()) << offset;
    EXPECT_TRUE((*PatternDatabase::Create(kExpressions, directory_))->from_cache()) << offset;
  }
}

TEST_F(PatternCache, WhenCutShortIsReplaced) {
  ASSERT_THAT(PatternDatabase::Create(kExpressions, directory_), IsOk());
  std::filesystem::resize_file(OnlyFile(), 20);
  const auto rebuilt = PatternDatabase::Create(kExpressions, directory_);
  ASSERT_THAT(rebuilt, IsOk());
  EXPECT_FALSE((*rebuilt)->from_cache());
}

TEST_F(PatternCache, LeavesNothingButItsFile) {
  ASSERT_THAT(PatternDatabase::Create(kExpressions, directory_), IsOk());
  ASSERT_THAT(PatternDatabase::Create(kExpressions, directory_), IsOk());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(PatternCache, ThatCannotBeWrittenIsDoneWithout) {
  EXPECT_THAT(PatternDatabase::Create(kExpressions, "/proc/no/such/place"), IsOk());
}

}  // namespace
}  // namespace galen::log_scan
