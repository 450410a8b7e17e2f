#include "services/planning/playbook_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::planning {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PlaybookTextsTest : public ::testing::Test {
 protected:
  PlaybookTextsTest() : root_(::testing::TempDir() + absl::StrCat("playbooks-", getpid())) {}
  ~PlaybookTextsTest() override { std::filesystem::remove_all(root_); }

  std::string Directory(const std::string& name, const std::string& yaml) {
    const std::string directory = absl::StrCat(root_, "/", name);
    std::filesystem::create_directories(directory + "/playbooks");
    if (!yaml.empty()) std::ofstream(directory + "/playbooks/a.yaml") << yaml;
    return directory;
  }
  const std::string root_;
};

constexpr char kTwo[] = R"(
playbooks:
  - name: hang
    title: A job that makes no more steps
    when: No step is completed any more.
    steps:
      - {check: t.liveness, finding: stuck, test: most_wait, of: [a], points_to: [A.B], collect: power of each GPU}
  - name: slow
    title: A job that is slower than before
    when: Steps take longer.
    steps:
      - {check: t.rate, finding: falls, test: falls, of: [a]}
)";

TEST_F(PlaybookTextsTest, FindsThemByTheirWords) {
  const auto texts = PlaybookTexts::Load({Directory("k", kTwo)});
  ASSERT_TRUE(texts.ok()) << texts.status();
  const std::string found = (*texts)->Search("no step is completed", 2000);
  EXPECT_THAT(found, StartsWith("hang: A job that makes no more steps"));
  EXPECT_THAT(found, HasSubstr("check t.liveness, finding stuck: points to A.B; if it is unknown, "
                               "collect power of each GPU"));
  EXPECT_THAT((*texts)->Search("slower", 2000), Not(HasSubstr("hang")));
  EXPECT_THAT((*texts)->Search("banana", 2000), StartsWith("No playbook has any of these words"));
  EXPECT_EQ((*texts)->Search("", 2000),
            "hang: A job that makes no more steps\nslow: A job that is slower than before");
  EXPECT_LE((*texts)->Search("job", 60).size(), 60u);
}

TEST_F(PlaybookTextsTest, LetsALaterDirectoryReplaceOne) {
  const auto texts = PlaybookTexts::Load(
      {Directory("k", kTwo),
       Directory("site", "playbooks:\n  - {name: hang, title: Our way, steps: []}\n")});
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT((*texts)->Search("", 2000), StartsWith("hang: Our way\n"));
}

TEST_F(PlaybookTextsTest, MayHaveNoneButNoBrokenFile) {
  const auto none = PlaybookTexts::Load({Directory("k", "")});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->Search("hang", 2000), "There are no playbooks.");
  EXPECT_FALSE(PlaybookTexts::Load({Directory("l", "playbooks: [")}).ok());
}

TEST_F(PlaybookTextsTest, ShippedOnesAreFound) {
  const auto texts = PlaybookTexts::Load({GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT((*texts)->Search("the job makes no more steps", 3600), HasSubstr("hang: "));
}

}  // namespace
}  // namespace galen::planning
