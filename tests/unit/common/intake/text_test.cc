#include "common/intake/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen::intake {
namespace text_test {

std::string Utf16(const std::string& ascii, bool big) {
  std::string out;
  for (const char c : ascii) {
    if (big) out += '\0';
    out += c;
    if (!big) out += '\0';
  }
  return out;
}

constexpr char kLine[] = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n";

TEST(Plain, ReadsUtf16WithAndWithoutAByteOrderMark) {
  EXPECT_EQ(Plain("\xFF\xFE" + Utf16(kLine, false)), kLine);
  EXPECT_EQ(Plain("\xFE\xFF" + Utf16(kLine, true)), kLine);
  EXPECT_EQ(Plain(Utf16(kLine, false)), kLine);
  EXPECT_EQ(Plain(std::string("\xEF\xBB\xBF") + kLine), kLine);
}

TEST(Plain, TakesOutWhatTerminalsAndWebPagesPutIn) {
  EXPECT_EQ(Plain("\x1b[31mError\x1b[0m 1\r\nnext\n"), "Error 1\nnext\n");
  EXPECT_EQ(Plain("No\xC2\xA0space left\n"), "No space left\n");
  EXPECT_EQ(Plain("eth0:10.0.0.1&lt;0&gt; &amp; more\n"), "eth0:10.0.0.1<0> & more\n");
  EXPECT_EQ(Plain("a & b\n"), "a & b\n");
}

TEST(Plain, SignsOfAsciiAreKnownByTheirNumber) {
  EXPECT_EQ(Plain("couldn&#39;t &#x27;open&#X27; a&#47;b &#60;x&#62;"), "couldn't 'open' a/b <x>");
  EXPECT_EQ(Plain("&#38;lt; &#7; &#999; &#; &#x; &#39 &#"), "&lt; &#7; &#999; &#; &#x; &#39 &#");
}

TEST(Plain, KeepsTheNumberOfLines) { EXPECT_EQ(Plain("1\r\n 50%\r100%\r\n3"), "1\n 50% 100%\n3"); }

TEST(Plain, TakesAnyBytes) {
  EXPECT_EQ(Plain(""), "");
  EXPECT_EQ(Plain("\xFF\xFE"), "");
  EXPECT_EQ(Plain(std::string("\xFF\xFE\x41", 3)), "");
  EXPECT_EQ(Plain(std::string("\xFF\xFE\x00\xD8", 4)), "\xEF\xBF\xBD");  // half of a pair
}

TEST(PlainOutput, ReadsUtf16AndMailsAndLeavesDocuments) {
  EXPECT_EQ(PlainOutput(absl::string_view("\xFF\xFE"
                                          "a\0\n\0",
                                          6)),
            "a\n");
  EXPECT_EQ(PlainOutput(">one\n> two\n"), "one\ntwo\n");
  EXPECT_EQ(PlainOutput("> one\ntwo\n"), "> one\ntwo\n");
  EXPECT_EQ(PlainOutput("<?xml version=\"1.0\" ?>\n<a>&lt;x&gt;</a>\n"),
            "<?xml version=\"1.0\" ?>\n<a>&lt;x&gt;</a>\n");
  const std::string data("\x01\x02\0\x03", 4);
  EXPECT_EQ(PlainOutput(data), data);
}

TEST(IsData, TellsAProgramFromALog) {
  EXPECT_TRUE(
      IsData(std::string("\x7f"
                         "ELF\x01\x02\x03\x00\x00\x00\x01\x02\x80\x81",
                         14)));
  EXPECT_FALSE(IsData(kLine));
  EXPECT_FALSE(IsData(""));
}

}  // namespace text_test
}  // namespace galen::intake
