#include "common/log_analysis/templates/miner.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::log_templates {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> TextsOf(const Miner& miner) {
  std::vector<std::string> texts;
  for (const Miner::Template& one : miner.Templates()) {
    texts.push_back(absl::StrCat(one.count, " ", one.text));
  }
  return texts;
}

std::vector<std::string> Mined(const std::vector<std::string>& lines, MinerOptions options = {}) {
  Miner miner(options);
  for (const std::string& line : lines) miner.Add(line);
  return TextsOf(miner);
}

TEST(Miner, WhatChangesBecomesAMask) {
  EXPECT_THAT(Mined({"Connection from alice closed", "Connection from bob closed",
                     "Connection from 10.0.0.1 closed"}),
              ElementsAre("3 Connection from <*> closed"));
  EXPECT_THAT(Mined({"step 1 took 3.5s", "step 2 took 3.25s"}),
              ElementsAre("2 step <*> took <*>s"));
  EXPECT_THAT(Mined({"", "  ", "\t\r"}), ElementsAre("3 "));
  EXPECT_THAT(Mined({"1", "2 ", "0x3"}), ElementsAre("3 <*>"));
}

TEST(Miner, WhatIsOtherIsOther) {
  // Other lengths, other first words, and less than two fifths of the words.
  EXPECT_THAT(Mined({"disk is full", "disk is full now"}), SizeIs(2));
  EXPECT_THAT(Mined({"open file a", "close file a"}), SizeIs(2));
  EXPECT_THAT(Mined({"worker lost its lease again", "worker has begun to load"}), SizeIs(2));
}

TEST(Miner, WhatChangesInBothSaysNothingOfEither) {
  EXPECT_THAT(Mined({"Created temporary directory: /tmp/a/b", "Created build tracker: /tmp/c/d"}),
              SizeIs(2));
}

TEST(Miner, ATemplateWithManyMasksStillTakesItsLines) {
  Miner miner({});
  const std::uint64_t first = miner.Add("sent a b c done today");
  EXPECT_EQ(miner.Add("sent d e f done today"), first);
  EXPECT_EQ(miner.Add("sent 1 2 3 done today"), first);
  EXPECT_EQ(miner.Find("sent x y z done today"), first);
  EXPECT_EQ(miner.Find("sent x y z done tomorrow"), Miner::kNone);
  EXPECT_THAT(TextsOf(miner), ElementsAre("3 sent <*> <*> <*> done today"));
}

TEST(Miner, TheLeastRecentlyUsedTemplateGoes) {
  MinerOptions options;
  options.most_templates = 2;
  Miner miner(options);
  const std::uint64_t one = miner.Add("one is here");
  const std::uint64_t two = miner.Add("two are there now");
  EXPECT_EQ(miner.Add("one is here"), one);
  miner.Add("and three");
  EXPECT_TRUE(miner.Has(one));
  EXPECT_FALSE(miner.Has(two));
  EXPECT_EQ(miner.dropped(), 1);
  // It starts again under another number.
  EXPECT_GT(miner.Add("two are there now"), two);
  EXPECT_EQ(miner.size(), 2);
}

TEST(Miner, MoreBeginningsThanAreToldApartShareTheRest) {
  MinerOptions options;
  options.most_keys = 3;
  EXPECT_THAT(Mined({"a is lost now", "b is lost now", "c is lost now", "d is lost now"}, options),
              ElementsAre("1 a is lost now", "1 b is lost now", "2 <*> is lost now"));
}

TEST(Miner, ALeafKeepsNoMoreThanItIsComparedWith) {
  MinerOptions options;
  options.most_compared = 2;
  Miner miner(options);
  for (const char* word : {"q", "r", "s", "t", "u"}) {
    miner.Add(absl::StrCat("same ", word, "a ", word, "b ", word, "c"));
  }
  EXPECT_EQ(miner.size(), 2);
  EXPECT_EQ(miner.dropped(), 3);
}

TEST(Miner, OptionsOfNoughtAreNoTrouble) {
  EXPECT_THAT(Mined({"a b", "c d", "a b"}, {0, 0, 0, 0}), SizeIs(1));
  EXPECT_THAT(Miner(MinerOptions{}).Templates(), IsEmpty());
}

TEST(Miner, TracesOfCallsAreToldByWhatIsCalled) {
  Miner miner({});
  const std::uint64_t server =
      miner.Add("server_register(server=0x7f01, method=/a/B, host=(null), flags=0x00)");
  EXPECT_EQ(miner.Add("server_register(server=0x7f02, method=/a/C, host=(null), flags=0x01)"),
            server);
  const std::uint64_t call =
      miner.Add("call_register(call=0x7f01, method=/a/B, host=(null), flags=0x00)");
  EXPECT_NE(call, server);
  EXPECT_EQ(miner.Add("call_register(call=0x7f03, method=/a/D, host=(null), flags=0x00)"), call);
}

}  // namespace
}  // namespace galen::log_templates
