#include "common/curation/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "site_files.h"

namespace galen::curation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const std::vector<Found>& found) {
  std::vector<std::string> names;
  for (const Found& entry : found) names.push_back(entry.kind + " " + entry.name);
  return names;
}

TEST(Find, PutsEntriesThatHoldAllWordsFirstAndNamesBeforeTexts) {
  const auto base = ParsedText(kBook);
  EXPECT_THAT(Names(Find(base, "uncorrectable ecc", "", 3)),
              ElementsAre("label GPU.MEMORY.ECC", "signal gpu.memory.ecc.1", "incident old-1"));
}

TEST(Find, LooksIntoWhatChecksReadAndFind) {
  const auto base = ParsedText(kBook);
  EXPECT_THAT(Names(Find(base, "IBSTAT", "", 9)), ElementsAre("check net.cable"));
  EXPECT_THAT(Names(Find(base, "link_down", "check", 9)), ElementsAre("check net.cable"));
}

TEST(Find, SaysWhereAnEntryStands) {
  const auto found = Find(ParsedText(kBook), "GPU.MEMORY.ECC", "label", 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source.file(), "a.yaml");
  EXPECT_GT(found[0].source.line(), 0);
}

TEST(Find, FindsNothingWhereNothingIsAsked) {
  const auto base = ParsedText(kBook);
  EXPECT_THAT(Find(base, "", "", 9), IsEmpty());
  EXPECT_THAT(Find(base, "(*)+?[", "", 9), IsEmpty());
  EXPECT_THAT(Find(base, "nowhere_to_be_found", "", 9), IsEmpty());
  EXPECT_THAT(Find(base, std::string(100'000, 'x'), "", 9), IsEmpty());
}

}  // namespace
}  // namespace galen::curation
