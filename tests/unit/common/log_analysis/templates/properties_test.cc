// Properties that hold for any lines, random or hostile.
#include <sys/resource.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log_analysis/templates/miner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/memory.h"

namespace galen::log_templates {
namespace {

std::vector<std::string> LinesOf(unsigned seed, int count) {
  static constexpr const char* kWords[] = {
      "worker", "lost", "10.0.0.1:80", "0x1f",     "rank3", "/a/b", "lease",      "=",
      "[12,",   "12ms", "is",          "\xff\x01", "a-1-b", "...",  "https://x/y"};
  std::mt19937 random(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    std::string line;
    for (unsigned words = random() % 7; words > 0; --words) {
      absl::StrAppend(&line, kWords[random() % std::size(kWords)], random() % 9 == 0 ? "\t" : " ");
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST(MinerProperties, EachLineIsOfOneTemplateWhichMatchesIt) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Miner miner({});
    const std::vector<std::string> lines = LinesOf(seed, 2000);
    for (const std::string& line : lines) {
      const std::uint64_t id = miner.Add(line);
      ASSERT_NE(id, Miner::kNone);
      ASSERT_TRUE(miner.Has(id));
      ASSERT_EQ(miner.Find(line), id) << line;
    }
    std::int64_t sum = 0;
    std::set<std::uint64_t> ids;
    for (const Miner::Template& one : miner.Templates()) {
      sum += one.count;
      EXPECT_TRUE(ids.insert(one.id).second);
    }
    EXPECT_EQ(miner.dropped(), 0);
    EXPECT_EQ(sum, 2000);
    // A template that took a line takes it again, also after it changed.
    for (const std::string& line : lines) EXPECT_NE(miner.Find(line), Miner::kNone) << line;
  }
}

TEST(MinerProperties, TheSameLinesMakeTheSameTemplates) {
  const std::vector<std::string> lines = LinesOf(7, 5000);
  MinerOptions options;
  options.most_templates = 16;
  Miner a(options);
  Miner b(options);
  for (const std::string& line : lines) ASSERT_EQ(a.Add(line), b.Add(line));
  const auto left = a.Templates();
  const auto right = b.Templates();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].text, right[i].text);
    EXPECT_EQ(left[i].count, right[i].count);
  }
}

TEST(MinerProperties, LinesThatAreAllOtherTakeBoundedMemory) {
  Miner miner({});
  const auto peak = [] {
    struct rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  std::mt19937_64 random(1);
  const auto word = [&] {
    std::string text;
    for (int i = 0; i < 30; ++i) text += static_cast<char>('g' + random() % 20);
    return text;
  };
  for (int i = 0; i < 3000; ++i) {
    std::string line;
    for (int k = 0; k < 200; ++k) absl::StrAppend(&line, word(), " ");
    miner.Add(line);
    ASSERT_LE(miner.size(), MinerOptions{}.most_templates);
  }
  const auto full = peak();
  for (int i = 0; i < 20'000; ++i) {
    miner.Add(
        absl::StrCat(word(), " ", word(), " ", word(), std::string(i % 7, '\0'), " ", word()));
    miner.Add(std::string(i % 5000, "1-a/"[i % 4]));
  }
  EXPECT_LE(miner.size(), MinerOptions{}.most_templates);
  // Freed memory that a sanitizer keeps does not belong to the miner.
  if (galen::testing::kMemoryIsOurs) {
    EXPECT_LT(peak() - full, 8 << 10);  // KiB
  }
  EXPECT_GT(miner.dropped(), 10'000);
}

}  // namespace
}  // namespace galen::log_templates
