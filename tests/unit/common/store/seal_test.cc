#include "common/store/seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/crypto/sha256.h"
#include "common/store/store.h"
#include "tests/testing/status_matchers.h"

namespace galen::store {
namespace seal_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SealTest : public ::testing::Test {
 protected:
  SealTest() {
    std::string root = ::testing::TempDir() + "galen-seal-XXXXXX";
    root_ = ::mkdtemp(root.data());
  }
  ~SealTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string File(const std::string& text) const {
    const std::string path = root_ + "/key";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string root_;
  const std::unique_ptr<Store> store_ = OpenStore(":memory:").value();
  Records& plain_ = store_->records();
  const Seal seal_{std::string(32, 'k')};
  std::vector<std::string> refused_;
  const std::unique_ptr<Records> sealed_ =
      SealRecords(plain_, seal_, [this](const std::string& what) { refused_.push_back(what); });
};

// RFC 4231, test case 2.
TEST_F(SealTest, IsAnHmac) {
  std::string hex;
  for (const char c : HmacSha256("Jefe", "what do ya want for nothing?")) {
    absl::StrAppend(&hex, absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
  }
  EXPECT_EQ(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_F(SealTest, RecordsAreReadAsTheyWereWritten) {
  EXPECT_EQ(sealed_->Put("actions", "a", "approved", 0).value(), 1);
  EXPECT_EQ(sealed_->Put("actions", "a", "consumed", 1).value(), 2);
  EXPECT_EQ(sealed_->Put("actions", "a", "consumed", 1).value(), 2);  // once more
  const auto got = sealed_->Get("actions", "a");
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ((*got)->value, "consumed");
  EXPECT_EQ((*got)->version, 2);
  EXPECT_FALSE(sealed_->Get("actions", "none").value().has_value());
  EXPECT_TRUE(refused_.empty());
}

// Attacks of a party with write access to the store: change, copy, move, and restore an old value.
TEST_F(SealTest, WhatGalenDidNotWriteInThisPlaceIsNotBelieved) {
  ASSERT_THAT(sealed_->Put("actions", "a", "approved", 0), IsOk());
  const std::string approved = plain_.Get("actions", "a").value()->value;
  const auto forge = [&](const std::string& space, const std::string& key,
                         const std::string& value) {
    const auto there = plain_.Get(space, key).value();
    ASSERT_THAT(plain_.Put(space, key, value, there ? there->version : 0), IsOk());
  };
  forge("actions", "b", approved);    // of another action
  forge("elsewhere", "a", approved);  // in another space
  forge("actions", "c", "approved");  // without a seal
  forge("actions", "d", Seal(std::string(32, 'x')).Put("record/", "approved"));
  std::string changed = approved;
  changed.back() ^= 1;
  forge("actions", "e", changed);
  // The approval once more, after it was used up.
  ASSERT_THAT(sealed_->Put("actions", "a", "consumed", 1), IsOk());
  forge("actions", "a", approved);
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    EXPECT_THAT(sealed_->Get("actions", key),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(key)));
  }
  EXPECT_THAT(sealed_->Get("elsewhere", "a"), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(refused_, SizeIs(6));
}

TEST_F(SealTest, AListIsWholeWithoutWhatIsNotBelieved) {
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_THAT(sealed_->Put("s", key, key, 0), IsOk());
  }
  for (const char* key : {"a1", "a2", "a3"}) ASSERT_THAT(plain_.Put("s", key, "forged", 0), IsOk());
  const auto keys = [&](absl::string_view after, int limit) {
    std::vector<std::string> found;
    const auto page = sealed_->List("s", after, limit).value();
    for (const Record& record : page) found.push_back(record.key);
    return found;
  };
  EXPECT_THAT(keys("", 2), ElementsAre("a", "b"));
  EXPECT_THAT(keys("b", 2), ElementsAre("c", "d"));
  EXPECT_THAT(keys("", 100), ElementsAre("a", "b", "c", "d"));
}

TEST_F(SealTest, ItsKeyIsAFileOfHexadecimalDigits) {
  const std::string digits(64, 'a');
  EXPECT_THAT(Seal::FromFile(File(digits + "\n")), IsOk());
  for (const std::string& text : {std::string("a"), digits + "a", std::string(64, 'g'),
                                  std::string(2000, 'a'), std::string("\n")}) {
    EXPECT_THAT(Seal::FromFile(File(text)), StatusIs(absl::StatusCode::kInvalidArgument, _));
  }
  EXPECT_THAT(Seal::FromFile(root_ + "/none"), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(SealTest, AStoreThatOthersWriteToNeedsOne) {
  EXPECT_THAT(OpenSeal("", /*shared=*/true, /*unsealed=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--unsealed_store")));
  for (const auto& [shared, unsealed] : {std::pair{true, true}, {false, false}}) {
    const auto none = OpenSeal("", shared, unsealed);
    ASSERT_THAT(none, IsOk());
    EXPECT_FALSE(none->has_value());
  }
  EXPECT_TRUE(OpenSeal(File(std::string(64, 'a')), true, false)->has_value());
}

TEST_F(SealTest, AStoreThatIsMadeIsItsOwnersAlone) {
  const mode_t before = umask(0022);
  const std::string file = root_ + "/galen.db";
  {
    const auto store = OpenStore(file);
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->records().Put("s", "k", "v", 0), IsOk());
    for (const auto& entry : std::filesystem::directory_iterator(root_)) {
      struct stat there {};
      ASSERT_EQ(stat(entry.path().c_str(), &there), 0);
      EXPECT_EQ(there.st_mode & 0777, 0600u) << entry.path();
    }
    EXPECT_TRUE((*store)->warnings().empty());
  }
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_THAT((*OpenStore(file))->warnings(), ElementsAre(HasSubstr("chmod 600")));
  umask(before);
}

}  // namespace seal_test
}  // namespace galen::store
