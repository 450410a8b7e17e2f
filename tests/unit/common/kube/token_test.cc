// A token that its kubelet exchanges while we run.
#include "common/kube/token.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() {
    std::string pattern = ::testing::TempDir() + "galen-token-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/token";
  }
  ~TokenTest() override { std::filesystem::remove_all(folder_); }

  // As a kubelet does it: another file in its place, at once.
  void Exchange(const std::string& text) const {
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(TokenTest, IsTheOneOfTheFileAsItIsNow) {
  TokenFile token(path_);
  Exchange("first\n");
  EXPECT_EQ(token.Get()->Reveal(), "first");
  Exchange("second");
  EXPECT_EQ(token.Get()->Reveal(), "second");
}

TEST_F(TokenTest, StaysWhenTheFileIsAwayOrBrokenForAMoment) {
  TokenFile token(path_);
  Exchange("first");
  ASSERT_THAT(token.Get(), IsOk());
  std::filesystem::remove(path_);
  EXPECT_EQ(token.Get()->Reveal(), "first");
  Exchange("");
  EXPECT_EQ(token.Get()->Reveal(), "first");
  Exchange("two\r\nInjected: header");
  EXPECT_EQ(token.Get()->Reveal(), "first");
  Exchange("second");
  EXPECT_EQ(token.Get()->Reveal(), "second");
}

TEST_F(TokenTest, IsReadAgainWhenTheServerRefusedItThoughTheFileLooksTheSame) {
  TokenFile token(path_);
  Exchange("first1");
  ASSERT_EQ(token.Get()->Reveal(), "first1");
  // The same file, size and time, with other bytes in it.
  struct stat before = {};
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  std::ofstream(path_) << "second";
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  ASSERT_EQ(token.Get()->Reveal(), "first1");
  token.Refused();
  EXPECT_EQ(token.Get()->Reveal(), "second");
}

TEST_F(TokenTest, SaysWhyThereIsNoneAndNeverWhatWasThere) {
  EXPECT_THAT(TokenFile(path_).Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path_)));
  Exchange("two words");
  EXPECT_THAT(TokenFile(path_).Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no token"), Not(HasSubstr("two")))));
  Exchange(std::string(65'537, 'a'));
  EXPECT_THAT(TokenFile(path_).Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("larger")));
  EXPECT_THAT(TokenFile(folder_).Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("")));
}

TEST_F(TokenTest, IsNoneWhereNoneIsAskedFor) {
  const auto token = TokenFile("").Get();
  ASSERT_THAT(token, IsOk());
  EXPECT_TRUE(token->empty());
}

}  // namespace
}  // namespace galen::kube
