#include "common/knowledge/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "knowledge_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

using ::galen::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string LabelYaml(const std::string& title, const std::string& owner = "either") {
  return absl::StrCat(R"(checks:
  - {name: a.one, kind: native, cost: 1s, findings: [{name: bad, type: bool, subject: node}]}
labels:
  - {label: A, title: Main, first_checks: [a.one]}
  - {label: A.B, title: ")",
                      title, "\", owner: ", owner, R"(, severity: low, prior: low,
     confirm: [{check: a.one, finding: bad, op: ==, value: true}]}
)");
}

class ReloaderTest : public ::testing::Test {
 protected:
  ReloaderTest() {
    files_.Write("a.yaml", LabelYaml("first"));
    auto loaded = Load({files_.path()}, {});
    EXPECT_THAT(loaded, IsOk());
    loaded_ = *loaded;
  }
  ReloadOptions Options() {
    ReloadOptions options;
    options.directories = {files_.path()};
    options.apply = [this](std::shared_ptr<const Knowledge> newer) {
      if (!apply_error_.ok()) return apply_error_;
      titles_.push_back(newer->FindLabel("A.B")->title());
      return absl::OkStatus();
    };
    options.tell = [this](const std::string& news) { news_.push_back(news); };
    return options;
  }
  static void LookUntilSettled(Reloader& reloader) {
    reloader.Look();
    reloader.Look();
  }

  KnowledgeFiles files_;
  std::shared_ptr<const Knowledge> loaded_;
  std::vector<std::string> titles_;
  std::vector<std::string> news_;
  absl::Status apply_error_;
};

TEST_F(ReloaderTest, FilesThatNobodyTouchedAreNoNews) {
  Reloader reloader(Options(), *loaded_);
  for (int i = 0; i < 5; ++i) reloader.Look();
  EXPECT_THAT(titles_, IsEmpty());
  EXPECT_THAT(news_, IsEmpty());
}

TEST_F(ReloaderTest, AChangeIsTakenUpOnceItHasSettled) {
  Reloader reloader(Options(), *loaded_);
  LookUntilSettled(reloader);
  files_.Write("a.yaml", LabelYaml("half written"));
  reloader.Look();
  EXPECT_THAT(titles_, IsEmpty()) << "somebody may still be writing";
  files_.Write("a.yaml", LabelYaml("second"));
  reloader.Look();
  EXPECT_THAT(titles_, IsEmpty());
  reloader.Look();
  EXPECT_THAT(titles_, ElementsAre("second"));
  EXPECT_THAT(news_, ElementsAre(HasSubstr("is in use, in place of ")));
  for (int i = 0; i < 3; ++i) reloader.Look();
  EXPECT_THAT(titles_, SizeIs(1));
}

TEST_F(ReloaderTest, AFileThatIsAddedOrTakenAwayIsAChange) {
  Reloader reloader(Options(), *loaded_);
  LookUntilSettled(reloader);
  files_.Write("deep/b.yaml", "incidents: [{id: i, title: T, label: A.B}]\n");
  LookUntilSettled(reloader);
  EXPECT_THAT(titles_, SizeIs(1));
  std::filesystem::remove(files_.path() + "/deep/b.yaml");
  LookUntilSettled(reloader);
  EXPECT_THAT(titles_, SizeIs(2));
}

TEST_F(ReloaderTest, AVersionWithAMistakeIsRefusedOnceWithFileAndLine) {
  Reloader reloader(Options(), *loaded_);
  LookUntilSettled(reloader);
  files_.Write("a.yaml", LabelYaml("broken", "nobody"));
  for (int i = 0; i < 5; ++i) reloader.Look();
  EXPECT_THAT(titles_, IsEmpty());
  EXPECT_THAT(
      news_,
      ElementsAre(AllOf(HasSubstr("are refused"), HasSubstr("stays in use"),
                        HasSubstr("a.yaml:5: error: label A.B has the unknown owner \"nobody\""))));
  files_.Write("a.yaml", LabelYaml("mended"));
  LookUntilSettled(reloader);
  EXPECT_THAT(titles_, ElementsAre("mended"));
}

TEST_F(ReloaderTest, ADirectoryThatIsGoneLeavesTheOldKnowledgeInUse) {
  Reloader reloader(Options(), *loaded_);
  LookUntilSettled(reloader);
  std::filesystem::rename(files_.path(), files_.path() + ".away");
  for (int i = 0; i < 3; ++i) reloader.Look();
  std::filesystem::rename(files_.path() + ".away", files_.path());
  EXPECT_THAT(titles_, IsEmpty());
  EXPECT_THAT(news_, ElementsAre(HasSubstr("stays in use")));
  for (int i = 0; i < 3; ++i) reloader.Look();
  EXPECT_THAT(titles_, IsEmpty()) << "what came back is what is in use";
}

TEST_F(ReloaderTest, WhatCannotBePutInPlaceIsRefusedAndTriedWithTheNextVersion) {
  Reloader reloader(Options(), *loaded_);
  LookUntilSettled(reloader);
  apply_error_ = absl::InvalidArgumentError("signal x does not compile");
  files_.Write("a.yaml", LabelYaml("second"));
  LookUntilSettled(reloader);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("signal x does not compile")));
  apply_error_ = absl::OkStatus();
  files_.Write("a.yaml", LabelYaml("third"));
  LookUntilSettled(reloader);
  EXPECT_THAT(titles_, ElementsAre("third"));
}

TEST_F(ReloaderTest, WhoeverAsksIsNotMadeToWaitForAChangeToSettle) {
  Reloader reloader(Options(), *loaded_);
  files_.Write("a.yaml", LabelYaml("second"));
  reloader.Reload();
  reloader.Look();
  EXPECT_THAT(titles_, ElementsAre("second"));
  reloader.Reload();
  reloader.Look();
  EXPECT_THAT(titles_, SizeIs(1)) << "the same knowledge is not put in place again";
}

TEST_F(ReloaderTest, AThreadLooksByItselfAndAtOnceWhenAsked) {
  ReloadOptions options = Options();
  options.poll = absl::Hours(1);
  std::promise<std::string> taken;
  options.apply = [&](std::shared_ptr<const Knowledge> newer) {
    taken.set_value(newer->FindLabel("A.B")->title());
    return absl::OkStatus();
  };
  Reloader reloader(std::move(options), *loaded_);
  reloader.Start();
  files_.Write("a.yaml", LabelYaml("second"));
  reloader.Reload();
  EXPECT_EQ(taken.get_future().get(), "second");
}

}  // namespace
}  // namespace galen::knowledge
