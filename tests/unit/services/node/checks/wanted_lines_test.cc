#include "services/node/checks/system/wanted_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/node/checks/system/log_matcher.h"
#include "services/node/checks/system/log_reading.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> Errors(const knowledge::Knowledge&) { return {"error \\d+"}; }
std::vector<std::string> Warnings(const knowledge::Knowledge&) {
  return {"^warning", "\\bcareful$"};
}

// Counts, and shows that nothing is read twice.
class Count final : public LogFold {
 public:
  static inline int made = 0;
  Count() { ++made; }
  void Add(const LogLine& line) override {
    if (line.text.find("warning") != absl::string_view::npos) ++lines;
  }
  int lines = 0;
};

const LogWant kErrors = {.name = "errors", .expressions = Errors, .dated = true};
const LogWant kWarnings = {
    .name = "warnings",
    .expressions = Warnings,
    .fold = [](const FoldBasis&) -> std::unique_ptr<LogFold> { return std::make_unique<Count>(); }};
const LogWant* const kAll[] = {&kErrors, &kWarnings};

// A log that is not small: only its wanted lines are returned.
std::string Long(absl::string_view head) {
  std::string text(head);
  while (text.size() < 600'000) text += "nothing happens in this line, nor in the next\n";
  return text;
}

CheckContext ContextOf(const FakeHost& host) {
  return {.host = host, .knowledge = RepositoryKnowledge(), .log_wants = kAll};
}

using Numbered = std::vector<std::pair<std::int64_t, std::string>>;

Numbered ErrorsOf(const FakeHost& host, LogsOf which = LogsOf::kAllNodes) {
  Numbered found;
  EXPECT_TRUE(ForEachWantedLine(ContextOf(host), which, kErrors, [&](const LogLine& line) {
                found.emplace_back(line.number, std::string(line.text));
              }).ok());
  return found;
}

TEST(WantedLines, OfALongLogOnlyThoseThatMatchAreGivenWithTheirNumbers) {
  FakeHost host;
  host.AddLog("a.log",
              absl::StrCat("error one\nerror 1\n", Long(""), "\x1b[31merror 2\x1b[0m\r\nerror 3"));
  const Numbered found = ErrorsOf(host);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0], Pair(2, "error 1"));
  EXPECT_EQ(found[1].second, "error 2");
  EXPECT_THAT(found[2], Pair(found[1].first + 1, "error 3"));
}

TEST(WantedLines, OfASmallLogAllLinesAreGiven) {
  FakeHost host;
  host.AddLog("a.log", "one\nerror 1\n");
  EXPECT_THAT(ErrorsOf(host), ElementsAre(Pair(1, "one"), Pair(2, "error 1")));
}

TEST(WantedLines, ALineAcrossChunksIsOneLine) {
  // The reader gives a mebibyte at a time.
  const std::string head(std::size_t{1'048'570}, 'x');
  FakeHost host;
  host.AddLog("a.log", absl::StrCat(head, "\nerror 12345\nwarning\n"));
  EXPECT_THAT(ErrorsOf(host), ElementsAre(Pair(2, "error 12345")));
}

TEST(WantedLines, ALineWithoutEndIsReadToABound) {
  FakeHost host;
  host.AddLog("a.log", absl::StrCat("error 1 ", std::string(5'000'000, 'x'), "\nerror 2\n"));
  const Numbered found = ErrorsOf(host);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].second.size(), kMaxLogLine);
  EXPECT_THAT(found[1], Pair(2, "error 2"));
}

TEST(WantedLines, TheClosestTimeBeforeALineComesWithIt) {
  FakeHost host;
  host.AddLog("a.log", absl::StrCat(Long(""), "2026-05-01 12:00:00 begins\nplain\nerror 7\n"));
  std::string dated;
  EXPECT_TRUE(
      ForEachWantedLine(ContextOf(host), LogsOf::kAllNodes, kErrors, [&](const LogLine& line) {
        dated = std::string(line.dated);
      }).ok());
  EXPECT_EQ(dated, "2026-05-01 12:00:00 begins");
}

TEST(WantedLines, ANodeIsGivenItsOwnLogsAndThoseOfNoNode) {
  FakeHost host("a");
  host.AddLog("a.log", Long("error 1\n"), "a.cluster.local")
      .AddLog("b.log", "error 2\n", "b")
      .AddLog("all.log", "error 3\n");
  Numbered own;
  std::vector<std::string> read;
  const auto lines = ForEachWantedLine(
      ContextOf(host), LogsOf::kThisNode, kErrors,
      [&](const LogLine& line) { own.emplace_back(line.number, std::string(line.text)); },
      [&](const host::JobLog& log, std::int64_t) { read.push_back(log.name); });
  EXPECT_TRUE(lines.ok());
  EXPECT_THAT(own, ElementsAre(Pair(1, "error 1"), Pair(1, "error 3")));
  EXPECT_THAT(read, ElementsAre("a.log", "all.log"));
  EXPECT_EQ(ErrorsOf(host).size(), 3U);
}

TEST(WantedLines, LogsAreReadOnceForAllWantsAndNodes) {
  Count::made = 0;
  FakeHost host;
  host.AddLog("a.log", absl::StrCat(Long("warning\n"), "be careful\nwarning\n"));
  EXPECT_EQ(ErrorsOf(host).size(), 0U);
  EXPECT_EQ(Count::made, 1);  // made by the reading for the other want
  for (int node = 0; node < 3; ++node) {
    const auto folded = FoldLogs(ContextOf(host), kWarnings);
    ASSERT_TRUE(folded.ok());
    EXPECT_EQ(FoldAs<Count>(*folded)->lines, 2);
  }
  EXPECT_EQ(Count::made, 1);
}

TEST(WantedLines, AFileThatChangedIsReadAgain) {
  FakeHost host;
  host.AddLog("a.log", Long("error 1\n"));
  EXPECT_EQ(ErrorsOf(host).size(), 1U);
  std::ofstream(host.JobLogs()->front().path, std::ios::app) << "error 2\n";
  EXPECT_EQ(ErrorsOf(host).size(), 2U);
}

TEST(WantedLines, LinesTooManyToKeepAreGivenAllTheSame) {
  std::string text;
  constexpr int kLines = 6'000;
  const std::string words(200, 'w');
  for (int i = 0; i < kLines; ++i) absl::StrAppend(&text, "error ", i, " ", words, "\n");
  ASSERT_GT(text.size(), LogReading::kMostKeptBytes);
  FakeHost host;
  host.AddLog("a.log", text);
  for (int round = 0; round < 2; ++round) {
    const Numbered found = ErrorsOf(host);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(kLines));
    EXPECT_EQ(found.back().first, kLines);
  }
}

TEST(WantedLines, WithoutALogThereIsAnError) {
  EXPECT_THAT(
      ForEachWantedLine(ContextOf(FakeHost()), LogsOf::kAllNodes, kErrors, [](const LogLine&) {})
          .status(),
      StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(FoldLogs(ContextOf(FakeHost()), kWarnings).status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

TEST(LogMatcher, TellsWhichSetsALineMatches) {
  const std::vector<std::vector<std::string>> sets = {std::vector<std::string>{"a+b"},
                                                      std::vector<std::string>{"b$", "^c"}};
  const LogMatcher matcher(sets, "");
  std::vector<LogMatcher::Line> lines;
  auto scratch = matcher.NewScratch();
  const std::string block = "aab\nnone\nc\nb x\nab x\n";
  matcher.Scan(block, scratch, lines);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(block.substr(lines[0].begin, lines[0].end - lines[0].begin), "aab");
  EXPECT_EQ(lines[0].sets, 3U);
  EXPECT_EQ(lines[1].sets, 2U);
  EXPECT_EQ(block.substr(lines[2].begin, lines[2].end - lines[2].begin), "ab x");
  EXPECT_EQ(lines[2].sets, 1U);
  EXPECT_EQ(matcher.every_line(), 0U);
}

TEST(LogMatcher, ASetThatCannotBeSoughtMatchesEachLineAndSpoilsNoOther) {
  const std::vector<std::vector<std::string>> sets = {std::vector<std::string>{"x*"},
                                                      std::vector<std::string>{"found"}};
  const LogMatcher matcher(sets, "");
  EXPECT_EQ(matcher.every_line(), 1U);
  std::vector<LogMatcher::Line> lines;
  auto scratch = matcher.NewScratch();
  matcher.Scan("not\nfound\n", scratch, lines);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].sets, 2U);
}

}  // namespace
}  // namespace galen::node
