#include "services/node/watch/watch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"

namespace galen::node {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(WatchList, EveryFormOfFieldIsRead) {
  const auto specs = ParseWatchList(
      "# a comment\n\n"
      "/sys/a value\n/proc/vmstat oom_kill\n/proc/stat cpu:4\n/proc/diskstats *:5@3\n"
      "/proc/net/netstat TcpExt/TCPTimeouts\n",
      "watch.txt");
  ASSERT_TRUE(specs.ok()) << specs.status();
  ASSERT_THAT(*specs, SizeIs(5));
  EXPECT_EQ((*specs)[0].layout, CounterSpec::Layout::kNumber);
  EXPECT_EQ((*specs)[1].column, 1);
  EXPECT_EQ((*specs)[2].row, "cpu");
  EXPECT_EQ((*specs)[2].column, 4);
  EXPECT_EQ((*specs)[3].layout, CounterSpec::Layout::kRows);
  EXPECT_EQ((*specs)[3].name_word, 3);
  EXPECT_EQ((*specs)[4].name, "TCPTimeouts");
}

TEST(WatchList, AnEventHasALimitAndATime) {
  const auto specs = ParseWatchList(
      "/sys/c/* value event net.interfaces errors_delta count netdev:{1} 3 1m\n", "w");
  ASSERT_TRUE(specs.ok()) << specs.status();
  ASSERT_TRUE((*specs)[0].rule.has_value());
  EXPECT_EQ((*specs)[0].rule->rise, 3u);
  EXPECT_EQ((*specs)[0].rule->within, absl::Minutes(1));
}

TEST(WatchList, WhatIsWrongIsSaidWithItsLine) {
  for (const char* line : {"/etc/passwd value", "/proc/x", "/proc/x *", "/proc/x a:0",
                           "/proc/x a:b", "/proc/x /b", "/proc/x value event a b c d 0 1s",
                           "/proc/x value event a b c d 1 0s", "/proc/x value event a b c",
                           "/proc/x value other a b c d 1 1s", "/proc/x a:99999999999999999999"}) {
    const auto specs = ParseWatchList(absl::StrCat("# head\n", line, "\n"), "watch.txt");
    ASSERT_FALSE(specs.ok()) << line;
    EXPECT_THAT(std::string(specs.status().message()), HasSubstr("watch.txt:2: ")) << line;
  }
}

// The list that ships speaks of findings that checks declare, in the unit that they declare.
TEST(WatchList, EveryEventIsAFindingOfTheCatalogue) {
  const std::string directory = GALEN_SOURCE_DIR "/knowledge";
  const auto specs = LoadWatchList({directory});
  ASSERT_TRUE(specs.ok()) << specs.status();
  const auto knowledge = knowledge::Load({directory}, {});
  ASSERT_TRUE(knowledge.ok()) << knowledge.status();
  int rules = 0;
  for (const CounterSpec& spec : *specs) {
    if (!spec.rule.has_value()) continue;
    ++rules;
    const auto* finding = (*knowledge)->FindFinding(spec.rule->check, spec.rule->finding);
    ASSERT_NE(finding, nullptr) << spec.rule->check << " " << spec.rule->finding;
    EXPECT_EQ(finding->unit(), spec.rule->unit) << spec.rule->finding;
  }
  EXPECT_GT(rules, 5);
}

TEST(WatchList, ADirectoryWithoutOneIsPassedOver) {
  EXPECT_TRUE(LoadWatchList({GALEN_SOURCE_DIR "/knowledge", GALEN_SOURCE_DIR "/tests"}).ok());
  EXPECT_EQ(LoadWatchList({GALEN_SOURCE_DIR "/tests"}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace galen::node
