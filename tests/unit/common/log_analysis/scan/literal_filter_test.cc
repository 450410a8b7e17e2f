#include "common/log_analysis/scan/literal_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace galen::log_scan {
namespace {

constexpr std::size_t kNone = absl::string_view::npos;

// The first place of any literal, found the plain way.
std::size_t Plainly(const std::vector<std::string>& literals, absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  std::size_t first = kNone;
  for (const std::string& literal : literals) {
    first = std::min(first, lower.find(absl::AsciiStrToLower(literal)));
  }
  return first;
}

TEST(LiteralFilter, FindsALiteralAtEveryPlaceOfATextOfAnySize) {
  const std::vector<std::vector<std::string>> sets = {
      {"xid (", "killed"},
      {"evicted", "requeue", "out of memory"},
      {"out of memory", "connection refused by peer"},
      {"an illegal memory access was encountered", "remote process exited or there was"}};
  for (const std::vector<std::string>& literals : sets) {
    const LiteralFilter filter(literals);
    for (const std::string& literal : literals) {
      for (std::size_t before = 0; before < 70; ++before) {
        for (std::size_t behind : {0, 1, 3, 7, 8, 9, 31, 64}) {
          const std::string text =
              absl::StrCat(std::string(before, 'x'), literal, std::string(behind, 'y'));
          ASSERT_EQ(filter.Find(text, 0), before) << literal << " stride " << filter.stride();
          ASSERT_EQ(filter.Find(text, before), before);
          ASSERT_EQ(filter.Find(text, before + 1), kNone);
        }
      }
    }
  }
}

TEST(LiteralFilter, MindsNoCase) {
  const LiteralFilter filter(std::vector<std::string>{"NCCL warn: gone"});
  EXPECT_EQ(filter.Find("an nccl WARN: Gone", 0), 3u);
}

TEST(LiteralFilter, LooksAtFewerPlacesTheLongerTheLiterals) {
  EXPECT_EQ(LiteralFilter(std::vector<std::string>{"abcde"}).stride(), 2u);
  EXPECT_EQ(LiteralFilter(std::vector<std::string>{"abcdefg"}).stride(), 4u);
  EXPECT_EQ(LiteralFilter(std::vector<std::string>{"abcdefghijk"}).stride(), 8u);
  EXPECT_EQ(LiteralFilter(std::vector<std::string>{"abcdefghijk", "abcde"}).stride(), 2u);
}

TEST(LiteralFilter, WithoutLiteralsFindsNothing) {
  EXPECT_EQ(LiteralFilter().Find("anything", 0), kNone);
  EXPECT_EQ(LiteralFilter(std::vector<std::string>{"abcdef"}).Find("", 0), kNone);
}

TEST(LiteralFilter, FindsLinesJustAsAPlainSearchDoes) {
  std::mt19937 random(7);
  // Few letters, so that parts of literals occur everywhere.
  const auto word = [&](std::size_t size) {
    std::string text(size, ' ');
    for (char& c : text) c = "abAB @`[{"[random() % 9];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> literals;
    const std::size_t shortest = LiteralFilter::kMinSize + random() % 20;
    for (std::size_t i = 0; i < 1 + random() % 40; ++i) {
      literals.push_back(word(shortest + random() % 12));
    }
    const LiteralFilter filter(literals);
    for (int n = 0; n < 50; ++n) {
      std::string text = word(random() % 200);
      if (random() % 2 == 0)
        text.insert(random() % (text.size() + 1), literals[random() % literals.size()]);
      const std::size_t plainly = Plainly(literals, text);
      const std::size_t found = filter.Find(text, 0);
      // It may take '@' for '`', and one literal for another that it overlaps; it misses none.
      ASSERT_TRUE(plainly == kNone || found != kNone) << text;
    }
  }
}

}  // namespace
}  // namespace galen::log_scan
