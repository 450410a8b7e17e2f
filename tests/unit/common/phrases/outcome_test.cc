#include "common/phrases/outcome.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/words.h"

namespace galen::phrases {
namespace {

std::string Told(absl::string_view text, absl::string_view mention) {
  const std::size_t at = text.find(mention);
  if (at == absl::string_view::npos) return absl::StrCat("no \"", mention, "\"");
  switch (OutcomeOf(text, at + mention.size(), testing::ShippedOutcomeWords())) {
    case Outcome::kWorks:
      return "works";
    case Outcome::kFails:
      return "fails";
    case Outcome::kUnknown:
      break;
  }
  return "unknown";
}

// outcomes.txt: expected, mention and text of a line, separated by tabs; "\n" is a line break.
TEST(Outcome, IsToldByTheWordsAroundAMention) {
  std::ifstream file(GALEN_SOURCE_DIR "/tests/unit/common/phrases/outcomes.txt");
  ASSERT_TRUE(file.is_open());
  int read = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits('\t', 2));
    ASSERT_EQ(parts.size(), 3u) << line;
    const std::string text = absl::StrReplaceAll(parts[2], {{"\\n", "\n"}});
    EXPECT_EQ(Told(text, parts[1]), parts[0]) << line;
    ++read;
  }
  EXPECT_GE(read, 100);
}

TEST(Outcome, ClausesOfOneSentenceTellOfTheirOwn) {
  constexpr absl::string_view kText =
      "Training hangs in init with NCCL 2.19.1, with nccl 2.18.6 there are no problems.";
  EXPECT_EQ(Told(kText, "2.19.1"), "fails");
  EXPECT_EQ(Told(kText, "2.18.6"), "works");
}

TEST(Outcome, OfAMentionOutsideTheTextIsUnknown) {
  EXPECT_EQ(OutcomeOf("it works", 0, testing::ShippedOutcomeWords()), Outcome::kUnknown);
  EXPECT_EQ(OutcomeOf("it works", 100, testing::ShippedOutcomeWords()), Outcome::kUnknown);
  EXPECT_EQ(OutcomeOf("", 0, testing::ShippedOutcomeWords()), Outcome::kUnknown);
}

TEST(Outcome, ThePhrasesOfASiteAreUnderstood) {
  constexpr absl::string_view kText = "With NCCL 2.18 it purrs along.";
  const std::size_t end = kText.find("2.18") + 4;
  EXPECT_EQ(OutcomeOf(kText, end, testing::ShippedOutcomeWords()), Outcome::kUnknown);
  std::string site = ::testing::TempDir() + "galen-outcome-XXXXXX";
  ASSERT_NE(::mkdtemp(site.data()), nullptr);
  std::filesystem::create_directories(site + "/talk");
  std::ofstream(site + "/talk/ours.yaml") << "lists: {came_right: {phrases: [purrs along]}}\n";
  const auto words = OutcomeWords::Load({GALEN_SOURCE_DIR "/knowledge", site});
  std::filesystem::remove_all(site);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(OutcomeOf(kText, end, **words), Outcome::kWorks);
}

TEST(Outcome, WithoutListsThereAreNoWords) {
  const auto words = OutcomeWords::Load({GALEN_SOURCE_DIR "/docs"});
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(*words, nullptr);
}

TEST(Outcome, ANameIsWhatBelongsTogether) {
  EXPECT_EQ(NameAt("NCCL 2.19.1-1 hangs", 9), "2.19.1-1");
  EXPECT_EQ(NameAt("on node-17.", 10), "node-17");
  EXPECT_EQ(NameAt("", 5), "");
}

}  // namespace
}  // namespace galen::phrases
