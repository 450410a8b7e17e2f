#include "common/log_analysis/scan/line_text.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/text.h"

namespace galen::log_scan {
namespace {

using namespace std::string_literals;

std::string Normal(std::string text, bool last = true) {
  text.resize(Normalize(text.data(), text.size(), last, /*in_binary=*/false).size);
  return text;
}

TEST(Normalize, LeavesPlainTextAlone) { EXPECT_EQ(Normal("a b\tc\n\nd"), "a b\tc\n\nd"); }

TEST(Normalize, TakesTheReturnOfLineEndsOnly) {
  EXPECT_EQ(Normal("a\r\nb\rc\r\n"), "a\nb\rc\n");
  EXPECT_EQ(Normal("a\r", /*last=*/true), "a");
  EXPECT_EQ(Normal("a\r", /*last=*/false), "a\r");  // its newline may be in the next block
}

TEST(Normalize, DropsTerminalEscapes) {
  EXPECT_EQ(Normal("\x1b[1;31mNCCL\x1b[0m \x1b]0;title\aWARN\x1b(B"), "NCCL WARNB");
  EXPECT_EQ(Normal("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
}

TEST(Normalize, KeepsLinesWhoseEscapesAreCutShort) {
  EXPECT_EQ(Normal("a\x1b[1;3\nb\x1b\nc\x1b]0;t\nd\x1b"), "a\nb\nc\nd");
}

TEST(Normalize, CountsLinesWithNulAndDropsIt) {
  std::string text = "a\0b\nplain\n\0\0\0x\ntail\0"s;
  const Normalized normalized = Normalize(text.data(), text.size(), true, false);
  text.resize(normalized.size);
  EXPECT_EQ(text, "ab\nplain\nx\ntail");
  EXPECT_EQ(normalized.binary_lines, 2);
  EXPECT_TRUE(normalized.ends_in_binary);
}

TEST(Normalize, CountsABinaryLineThatEndsInALaterBlockOnce) {
  std::string text = "rest\nplain\n";
  const Normalized normalized = Normalize(text.data(), text.size(), true, /*in_binary=*/true);
  EXPECT_EQ(normalized.binary_lines, 1);
  EXPECT_FALSE(normalized.ends_in_binary);
}

TEST(IsBinary, TellsDataFromText) {
  EXPECT_FALSE(IsBinary(""));
  EXPECT_FALSE(IsBinary("loss 1.0\tgrad 2.0\r"));
  EXPECT_FALSE(IsBinary("├── Waiting – größer"));
  EXPECT_FALSE(IsBinary("one bad byte \xff in a line"));
  EXPECT_TRUE(IsBinary("\x01\x02\x03 ab"));
  EXPECT_TRUE(IsBinary("\xff\xfe\xfd\xfc text"));
  EXPECT_FALSE(IsBinary(std::string(1023, 'x') + "ü"));  // the cut falls into a character
}

TEST(Excerpt, IsTheWholeLineWhenItFits) { EXPECT_EQ(Excerpt("a line", 3, 512), "a line"); }

TEST(Excerpt, OfALongLineShowsTheMatch) {
  const std::string line = std::string(100'000, 'x') + "NCCL WARN" + std::string(100'000, 'y');
  const std::string excerpt = Excerpt(line, 100'009, 512);
  EXPECT_NE(excerpt.find("NCCL WARN"), std::string::npos);
  EXPECT_LE(excerpt.size(), 512u);
}

TEST(Excerpt, IsAlwaysUtf8AndBounded) {
  std::string line;
  for (int i = 0; i < 400; ++i) line += "ü\xff€";
  for (std::size_t end = 0; end <= line.size(); ++end) {
    const std::string excerpt = Excerpt(line, end, 512);
    ASSERT_TRUE(IsUtf8(excerpt)) << end;
    ASSERT_LE(excerpt.size(), 512u) << end;
  }
}

}  // namespace
}  // namespace galen::log_scan
