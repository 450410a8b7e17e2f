#include "common/yaml/knowledge_file.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen {
namespace {

using galen::testing::IsOk;
using galen::testing::Scratch;
using galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KnowledgeFolderTest : public ::testing::Test {
 protected:
  std::vector<std::string> Directories() const {
    return {scratch_ / "shipped", scratch_ / "site", scratch_ / "not-there"};
  }

  Scratch scratch_;
};

TEST_F(KnowledgeFolderTest, TheFilesOfAllDirectoriesInTheirOrderAndByName) {
  scratch_.Write("site/plans/a.yaml", "3");
  scratch_.Write("shipped/plans/b.yaml", "2");
  scratch_.Write("shipped/plans/a.yaml", "1");
  scratch_.Write("shipped/plans/notes.txt", "not read");
  const auto files = KnowledgeFolder(Directories(), "plans");
  ASSERT_THAT(files, IsOk());
  std::vector<std::string> texts;
  for (const KnowledgeFile& file : *files) texts.push_back(file.text);
  EXPECT_THAT(texts, ElementsAre("1", "2", "3"));
}

TEST_F(KnowledgeFolderTest, NoneIsAnErrorThatNamesWhatIsLookedFor) {
  EXPECT_THAT(KnowledgeFolder(Directories(), "plans"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("plans/*.yaml")));
}

TEST_F(KnowledgeFolderTest, TooManyAndTooLargeAreRefusedAndNotLeftOut) {
  scratch_.Write("shipped/large/a.yaml", std::string((1U << 20) + 1, 'a'));
  EXPECT_THAT(KnowledgeFolder(Directories(), "large"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.yaml")));
  for (int i = 0; i < 257; ++i) scratch_.Write(absl::StrCat("shipped/many/", i, ".yaml"), "");
  EXPECT_THAT(KnowledgeFolder(Directories(), "many"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("257 files")));
}

}  // namespace
}  // namespace galen
