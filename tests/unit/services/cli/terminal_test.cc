#include "services/cli/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace galen::cli {
namespace {

using ::testing::ElementsAre;

TEST(Terminal, APipeIsPlainAndAHundredColumnsWide) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Terminal terminal = Terminal::Of(ends[1]);
  EXPECT_FALSE(terminal.interactive);
  EXPECT_EQ(terminal.width, 100);
  close(ends[0]);
  close(ends[1]);
}

TEST(Paint, ColoursOnATerminalOnly) {
  EXPECT_EQ(Paint({.interactive = false, .width = 80}, Colour::kRed, "x"), "x");
  EXPECT_EQ(Paint({.interactive = true, .width = 80}, Colour::kRed, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Paint({.interactive = true, .width = 80}, Colour::kNone, "x"), "x");
}

TEST(Pad, CountsCharactersNotBytes) {
  EXPECT_EQ(Pad("✓ok", 5), "✓ok  ");
  EXPECT_EQ(Pad("toolong", 3), "toolong");
}

TEST(Wrap, BreaksAtSpacesAndKeepsLongWordsWhole) {
  EXPECT_THAT(Wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrap("a verylongword b", 5), ElementsAre("a", "verylongword", "b"));
  EXPECT_THAT(Wrap("", 5), ElementsAre(""));
}

TEST(Shorten, NeverCutsInsideACharacter) {
  EXPECT_EQ(Shorten("short", 10), "short");
  EXPECT_EQ(Shorten("abcdef", 4), "abc…");
  EXPECT_EQ(Shorten("éééé", 3), "éé…");
}

}  // namespace
}  // namespace galen::cli
