#include "common/curation/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "site_files.h"

namespace galen::curation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Change> To(const std::vector<std::pair<std::string, std::string>>& edits) {
  std::string text(kBook);
  for (const auto& [from, to] : edits) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  return Difference(ParsedText(kBook), ParsedText(text));
}

TEST(Difference, OfTheSameKnowledgeIsNothing) {
  EXPECT_THAT(Difference(ParsedText(kBook), ParsedText(kBook)), IsEmpty());
}

TEST(Difference, WhereAnEntryStandsIsNoDifference) {
  EXPECT_THAT(Difference(ParsedText(kBook), ParsedText(absl::StrCat("# moved\n\n\n", kBook))),
              IsEmpty());
}

TEST(Difference, NamesWhatIsAddedAndRemoved) {
  const auto changes = To({{"id: old-1", "id: old-2"}});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].kind, "incident");
  EXPECT_EQ(changes[0].name, "old-1");
  EXPECT_EQ(changes[0].sort, Change::Sort::kRemoved);
  EXPECT_EQ(changes[1].sort, Change::Sort::kAdded);
  EXPECT_GT(changes[1].source.line(), 0);
}

TEST(Difference, TellsAChangedRuleInItsWords) {
  const auto changes =
      To({{"confirm: [{check: gpu.memory, finding: ecc_errors, op: '>', value: 0}]",
           "confirm: [{check: gpu.memory, finding: ecc_errors, op: '>=', value: 2}]"}});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name, "GPU.MEMORY.ECC");
  EXPECT_THAT(changes[0].details, ElementsAre("- confirm: gpu.memory ecc_errors > 0",
                                              "+ confirm: gpu.memory ecc_errors >= 2"));
}

TEST(Difference, TellsChangedTextsListsLimitsAndTimes) {
  const auto changes = To({{"title: Link down", "title: Link lost"},
                           {"strength: strong", "strength: weak"},
                           {"title: Errors of GPU memory\n    kind: native\n    cost: 1s",
                            "title: Errors of GPU memory\n    kind: native\n    cost: 2s"},
                           {"[connections between two nodes time out]", "[nothing]"}});
  std::vector<std::string> details;
  for (const Change& change : changes) {
    for (const std::string& detail : change.details) {
      details.push_back(absl::StrCat(change.name, " ", detail));
    }
  }
  EXPECT_THAT(details,
              ElementsAre("NET.LINK.DOWN title: Link down -> Link lost",
                          "NET.LINK.DOWN - symptoms: connections between two nodes time out",
                          "NET.LINK.DOWN + symptoms: nothing", "gpu.memory cost: 1s -> 2s",
                          HasSubstr("net.link.down.1 strength: STRONG -> WEAK"),
                          "net.link.down.1 meaning: Link down -> Link lost"));
}

}  // namespace
}  // namespace galen::curation
