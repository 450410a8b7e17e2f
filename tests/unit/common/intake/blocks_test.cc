#include "common/intake/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::intake {
namespace blocks_test {

using ::testing::ElementsAre;

// "bare 0-2", "fenced 3-5 code".
std::vector<std::string> Cut(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<std::string> shown;
  for (const Block& block : CutBlocks(lines)) {
    const char* kind = block.kind == Block::Kind::kBare       ? "bare"
                       : block.kind == Block::Kind::kIndented ? "indented"
                                                              : "fenced";
    shown.push_back(absl::StrCat(kind, " ", block.lines.first, "-", block.lines.end,
                                 block.code ? " code" : ""));
  }
  return shown;
}

TEST(CutBlocks, PartsFencesAndIndentedBlocksFromWhatIsWritten) {
  EXPECT_THAT(Cut("words\n```\nout\n```\nwords\n\n    $ df\n    out\n\nwords"),
              ElementsAre("bare 0-1", "fenced 2-3", "bare 4-6", "indented 6-8", "bare 8-10"));
}

TEST(CutBlocks, AFenceClosesOnlyWithItsOwnSignAndLength) {
  EXPECT_THAT(Cut("````\n```\n~~~\n````\nwords"), ElementsAre("fenced 1-3", "bare 4-5"));
  EXPECT_THAT(Cut("```\nnever closed"), ElementsAre("fenced 1-2"));
}

TEST(CutBlocks, TheLanguageOfAFenceTellsCode) {
  EXPECT_THAT(Cut("```python\nx = 1\n```\n```console\n$ ls\n```"),
              ElementsAre("fenced 1-2 code", "fenced 4-5"));
}

TEST(CutBlocks, IndentedLinesOfAParagraphAreOfIt) {
  EXPECT_THAT(Cut("Traceback:\n    File x\nErr"), ElementsAre("bare 0-3"));
}

TEST(CutBlocks, QuotedFencesAreFences) {
  EXPECT_THAT(Cut("> ```\n> out\n> ```\n> words"), ElementsAre("fenced 1-2", "bare 3-4"));
}

// "0:6-0:9": line and byte of the beginning and of the end.
std::vector<std::string> Spans(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<std::string> shown;
  for (const CodeSpan& span : CodeSpans(lines, {0, lines.size()})) {
    shown.push_back(absl::StrCat(span.first_line, ":", span.first_byte, "-", span.last_line, ":",
                                 span.end_byte));
  }
  return shown;
}

TEST(CodeSpans, ReachFromOneRunOfBackticksToTheNextOfItsLength) {
  EXPECT_THAT(Spans("says `a` and ``b ` c``"), ElementsAre("0:6-0:7", "0:15-0:20"));
  EXPECT_THAT(Spans("`one\ntwo` and"), ElementsAre("0:1-1:3"));
}

TEST(CodeSpans, NoneReachesOverTheEndOfAParagraph) {
  EXPECT_THAT(Spans("a stray ` here\n\nand `there"), ElementsAre());
  EXPECT_THAT(Spans("a stray ` here\n\nand `this`"), ElementsAre("2:5-2:9"));
}

}  // namespace blocks_test
}  // namespace galen::intake
