#include "common/base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace galen {
namespace {

struct CleanCase {
  std::string raw;
  std::size_t max_bytes;
  std::string clean;
};

TEST(CleanText, MakesForeignTextFitForProtosAndTerminals) {
  const CleanCase cases[] = {
      {"plain", 100, "plain"},
      {"tab\tand\nnewline", 100, "tab\tand\nnewline"},
      {"\x1b[1;31mred\x1b[0m", 100, "red"},
      {"\x1b[31", 100, ""},  // an escape that never ends
      {"bell\x07", 100, "bell "},
      {std::string("nul\0inside", 10), 100, "nul inside"},
      {"caf\xC3\xA9", 100, "caf\xC3\xA9"},
      {"\xC3", 100, "\xEF\xBF\xBD"},                                  // cut sequence
      {"\xC0\x80", 100, "\xEF\xBF\xBD\xEF\xBF\xBD"},                  // overlong
      {"\xED\xA0\x80", 100, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // surrogate
      {"1234567890", 10, "1234567890"},
      {"12345678901", 10, "1234567..."},
      {"123456\xC3\xA9\xC3\xA9\xC3\xA9", 10, "123456..."},  // never cut inside a character
      {"long", 2, ""},
  };
  for (const CleanCase& c : cases) {
    EXPECT_EQ(CleanText(c.raw, c.max_bytes), c.clean) << c.raw;
    EXPECT_TRUE(IsUtf8(CleanText(c.raw, c.max_bytes)));
    EXPECT_LE(CleanText(c.raw, c.max_bytes).size(), c.max_bytes);
  }
}

TEST(IsUtf8, TellsWellFormedTextFromBytes) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("\xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsUtf8("\xFF\xFE"));
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
}

}  // namespace
}  // namespace galen
