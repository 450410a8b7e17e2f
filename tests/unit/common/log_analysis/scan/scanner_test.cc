#include "common/log_analysis/scan/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_scan {
namespace {

using namespace std::string_literals;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Patterns by id and expression, for logs.
Patterns PatternsOf(std::initializer_list<std::pair<const char*, const char*>> list) {
  Patterns patterns;
  for (const auto& [id, expression] : list) {
    knowledge::v1::SignalPattern& pattern = *patterns.Add();
    pattern.set_id(id);
    pattern.set_pattern(expression);
    pattern.add_where(v1::JOB_LOG);
  }
  return patterns;
}

std::unique_ptr<const Scanner> MakeScanner(Patterns patterns) {
  auto scanner = Scanner::Create(std::move(patterns), "");
  EXPECT_THAT(scanner, IsOk());
  return *std::move(scanner);
}

ScanResult Scan(const Scanner& scanner, absl::string_view text, LogScan::Options options = {}) {
  LogScan scan(scanner, options);
  scan.Feed(text);
  return scan.Finish();
}

// Everything of a result, for comparison.
std::string Show(const Scanner& scanner, const ScanResult& result) {
  std::string text = absl::StrCat(result.lines, " lines ", result.bytes, " bytes ",
                                  result.binary_lines, " binary ", result.long_lines, " long\n");
  for (const Hit& hit : result.hits) {
    absl::StrAppend(&text, scanner.patterns()[static_cast<int>(hit.pattern)].id(), " x", hit.count,
                    " line ", hit.first_line, " rank ", hit.rank.value_or(-1), " ", hit.excerpt,
                    " ", absl::FormatTime(hit.first_time.value_or(absl::InfinitePast())), " ",
                    absl::FormatTime(hit.last_time.value_or(absl::InfinitePast())), "\n");
  }
  return text;
}

// "id@first_line x count", in the order of the result.
std::vector<std::string> Found(const Scanner& scanner, const ScanResult& result) {
  std::vector<std::string> found;
  for (const Hit& hit : result.hits) {
    found.push_back(absl::StrCat(scanner.patterns()[static_cast<int>(hit.pattern)].id(), "@",
                                 hit.first_line, " x", hit.count));
  }
  return found;
}

TEST(Scanner, FindsTheFirstLineOfEachSignalAndCountsItsLines) {
  const auto scanner = MakeScanner(PatternsOf(
      {{"refused", "Connection refused"}, {"warn", "NCCL WARN"}, {"never", "not there"}}));
  const ScanResult result = Scan(*scanner,
                                 "start\n"
                                 "NCCL WARN Connection refused\n"
                                 "Connection refused, Connection refused\n"
                                 "NCCL WARN x\n");
  EXPECT_THAT(Found(*scanner, result), ElementsAre("refused@2 x2", "warn@2 x2"));
  EXPECT_EQ(result.hits[0].excerpt, "NCCL WARN Connection refused");
  EXPECT_EQ(result.lines, 4);
  EXPECT_EQ(result.bytes, 86);
}

TEST(Scanner, CountsAnUnfinishedLastLine) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "abc$"}}));
  EXPECT_EQ(Scan(*scanner, "").lines, 0);
  EXPECT_EQ(Scan(*scanner, "\n").lines, 1);
  EXPECT_EQ(Scan(*scanner, "x\nabc").lines, 2);
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "x\nabc")), ElementsAre("a@2 x1"));
}

TEST(Scanner, AnchorsHoldAtTheEndsOfEachLine) {
  const auto scanner = MakeScanner(PatternsOf({{"first", "^Xid"}, {"last", "done$"}}));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "an Xid\nXid\ndone x\nall done\n")),
              ElementsAre("first@2 x1", "last@4 x1"));
}

TEST(Scanner, ReadsWindowsLineEnds) {
  const auto scanner = MakeScanner(PatternsOf({{"last", "done$"}}));
  const ScanResult result = Scan(*scanner, "x\r\nall done\r\ndone");
  EXPECT_THAT(Found(*scanner, result), ElementsAre("last@2 x2"));
  EXPECT_EQ(result.hits[0].excerpt, "all done");
}

TEST(Scanner, SeesThroughTerminalColours) {
  const auto scanner = MakeScanner(PatternsOf({{"loss", "^step: 7 loss: nan"}}));
  const ScanResult result = Scan(*scanner, "\x1b[36mstep: 7\x1b[0m \x1b[32mloss: nan\x1b[39m\n");
  ASSERT_THAT(Found(*scanner, result), ElementsAre("loss@1 x1"));
  EXPECT_EQ(result.hits[0].excerpt, "step: 7 loss: nan");
}

TEST(Scanner, NeverMatchesOverLines) {
  const auto scanner = MakeScanner(
      PatternsOf({{"space", "open\\s+failed"}, {"class", "peer [^ ]+ gone"}, {"dot", "a.*z"}}));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "open\nfailed\npeer x\ny gone\na\nz\n")), IsEmpty());
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "open\nfailed open  failed\npeer x gone\na z\n")),
              ElementsAre("space@2 x1", "class@3 x1", "dot@4 x1"));
}

TEST(Scanner, APatternThatRunsToTheEndOfTheLineCountsTheLineOnce) {
  const auto scanner = MakeScanner(PatternsOf({{"tail", "error: (.*)"}}));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "error: a b c error: d\nx\nerror: \n")),
              ElementsAre("tail@1 x2"));
}

TEST(Scanner, GivesTheEarliestAndTheLatestTime) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}, {"b", "alone"}}));
  const ScanResult result = Scan(*scanner,
                                 "mark without time\n"
                                 "2024-05-01 12:00:07 mark\n"
                                 "2024-05-01 12:00:03 mark, merged late\n"
                                 "alone\n"
                                 "2024-05-01 12:00:09 other\n");
  ASSERT_EQ(result.hits.size(), 2u);
  const absl::Time noon = absl::FromCivil(absl::CivilHour(2024, 5, 1, 12), absl::UTCTimeZone());
  EXPECT_EQ(result.hits[0].first_time, noon + absl::Seconds(3));
  EXPECT_EQ(result.hits[0].last_time, noon + absl::Seconds(7));
  EXPECT_EQ(result.hits[1].first_time, std::nullopt);
}

TEST(Scanner, CountsLinesWhoseYearNothingTells) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}, {"b", "ar"}}));
  const absl::string_view text = "May  1 12:00:00 n kernel: mark\nMay  1 12:00:01 n kernel: no\n";
  EXPECT_EQ(Scan(*scanner, text).undated_lines, 1);

  LogScan::Options options;
  options.time.near = absl::FromCivil(absl::CivilDay(2024, 5, 3), absl::UTCTimeZone());
  const ScanResult dated = Scan(*scanner, text, options);
  EXPECT_EQ(dated.undated_lines, 0);
  EXPECT_TRUE(dated.hits[0].first_time.has_value());
}

TEST(Scanner, TakesTheRankFromTheFirstLine) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}}));
  EXPECT_EQ(Scan(*scanner, "[rank3]: mark\n[rank5]: mark\n").hits[0].rank, 3);
  EXPECT_EQ(Scan(*scanner, "mark\n[rank5]: mark\n").hits[0].rank, std::nullopt);
}

TEST(Scanner, ReadsDescriptionsWithAllPatternsAndLogsWithTheirs) {
  Patterns patterns = PatternsOf({{"log", "slow"}, {"words", "slow"}, {"both", "slow"}});
  patterns[1].clear_where();
  patterns[1].add_where(v1::DESCRIPTION);
  patterns[2].add_where(v1::DESCRIPTION);
  const auto scanner = MakeScanner(std::move(patterns));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "slow")), ElementsAre("log@1 x1", "both@1 x1"));
  LogScan::Options options;
  options.kind = TextKind::kDescription;
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "slow", options)),
              ElementsAre("log@1 x1", "words@1 x1", "both@1 x1"));
}

TEST(Scanner, ReadsLinesWithNulAndCountsThem) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "NCCL WARN"}}));
  // A log that was truncated while it was written, and one in UTF-16.
  const ScanResult result =
      Scan(*scanner, std::string(5000, '\0') + "NCCL WARN\nN\0C\0C\0L\0 \0W\0A\0R\0N\0\n"s);
  EXPECT_THAT(Found(*scanner, result), ElementsAre("a@1 x2"));
  EXPECT_EQ(result.hits[0].excerpt, "NCCL WARN");
  EXPECT_EQ(result.binary_lines, 2);
}

TEST(Scanner, TakesNoSignalFromData) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "nan"}}));
  const ScanResult result = Scan(*scanner, "\x01\x02\x03\xff\xfenan\x07\x06\x05\nloss nan\n");
  EXPECT_THAT(Found(*scanner, result), ElementsAre("a@2 x1"));
  EXPECT_EQ(result.binary_matches, 1);
}

TEST(Scanner, GivesUtf8WhateverTheLog) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}}));
  const ScanResult result = Scan(*scanner, "caf\xe9 mark \xc3\n");
  EXPECT_EQ(result.hits[0].excerpt, "caf\xef\xbf\xbd mark \xef\xbf\xbd");
}

TEST(Scanner, FindsSignalsAnywhereInALineLongerThanABlock) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}, {"b", "after"}}));
  LogScan::Options options;
  options.block_bytes = 64;
  for (std::size_t before = 0; before < 300; ++before) {
    const std::string line =
        absl::StrCat(std::string(before, 'x'), "mark", std::string(300 - before, 'y'));
    const ScanResult result = Scan(*scanner, absl::StrCat("x\n", line, "\nafter\n"), options);
    ASSERT_THAT(Found(*scanner, result), ElementsAre("a@2 x1", "b@3 x1")) << before;
    ASSERT_EQ(result.long_lines, 1);
    ASSERT_EQ(result.lines, 3);
  }
}

TEST(Scanner, CountsALongLastLineWithoutNewline) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}}));
  LogScan::Options options;
  options.block_bytes = 64;
  for (std::size_t size : {63, 64, 65, 128, 1000}) {
    EXPECT_EQ(Scan(*scanner, std::string(size, 'x'), options).lines, 1) << size;
    EXPECT_EQ(Scan(*scanner, std::string(size, '\0'), options).lines, 1) << size;
    EXPECT_EQ(Scan(*scanner, std::string(size, '\0'), options).binary_lines, 1) << size;
  }
}

const absl::string_view kMixed =
    "[rank1]: 2024-05-01 12:00:00 mark \x1b[31mred\x1b[0m\r\n"
    "\r\n"
    "peer a\nb gone\n"
    "2024-05-01 12:00:01 peer ab gone mark\r\n"
    "a line that is longer than the block and has a mark near its end, here: mark\n"
    "tail mark";

TEST(Scanner, GivesTheSameResultHoweverTheTextIsTruncated) {
  const auto scanner =
      MakeScanner(PatternsOf({{"a", "mark"}, {"b", "peer [^ ]+ gone"}, {"c", "^tail"}}));
  LogScan::Options options;
  options.block_bytes = 64;
  const std::string whole = Show(*scanner, Scan(*scanner, kMixed, options));
  EXPECT_THAT(whole, AllOf(HasSubstr("a x4 line 1 rank 1"), HasSubstr("b x1 line 5"),
                           HasSubstr("c x1 line 7"), HasSubstr("7 lines")));
  for (std::size_t cut = 0; cut <= kMixed.size(); ++cut) {
    LogScan scan(*scanner, options);
    scan.Feed(kMixed.substr(0, cut));
    scan.Feed(kMixed.substr(cut));
    ASSERT_EQ(Show(*scanner, scan.Finish()), whole) << cut;
  }
  LogScan scan(*scanner, options);
  for (const char& byte : kMixed) scan.Feed(absl::string_view(&byte, 1));
  EXPECT_EQ(Show(*scanner, scan.Finish()), whole);
}

TEST(Scanner, GivesTheSameHitsWhateverTheBlock) {
  const auto scanner =
      MakeScanner(PatternsOf({{"a", "mark"}, {"b", "peer [^ ]+ gone"}, {"c", "^tail"}}));
  const auto whole = Found(*scanner, Scan(*scanner, kMixed));
  for (std::size_t block = 96; block < 400; ++block) {
    LogScan::Options options;
    options.block_bytes = block;
    ASSERT_EQ(Found(*scanner, Scan(*scanner, kMixed, options)), whole) << block;
  }
}

TEST(Scanner, FindsInALogWhatItFindsInEachLineAlone) {
  // With texts to be found by and without, loose and anchored, sharing words.
  const auto scanner = MakeScanner(PatternsOf({{"long", "remote process exited or there was"},
                                               {"either", "(?i)evicted|preempted by"},
                                               {"loss", "(?i)loss[^a-z]{0,20}(nan|inf)"},
                                               {"start", "^Killed"},
                                               {"end", "gone$"},
                                               {"number", "code [0-9]+ end"},
                                               {"wide", "peer .* timed out"}}));
  const std::vector<std::string> parts = {"remote process exited or there was",
                                          "EVICTED",
                                          "loss: ",
                                          "nan",
                                          "Killed",
                                          "gone",
                                          "code 7 end",
                                          "peer ",
                                          " timed out",
                                          "[rank3]: ",
                                          "\x1b[31m",
                                          "x",
                                          " ",
                                          "Preempted by"};
  std::mt19937 random(11);
  std::vector<std::string> lines;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    std::string line;
    for (std::size_t n = random() % 6; n > 0; --n) line += parts[random() % parts.size()];
    absl::StrAppend(&text, line, random() % 3 == 0 ? "\r\n" : "\n");
    lines.push_back(std::move(line));
  }
  std::map<std::string, std::pair<int, int>> expected;  // by id: lines, and the first of them
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const Hit& hit : Scan(*scanner, lines[i]).hits) {
      auto& [count, first] = expected[scanner->patterns()[static_cast<int>(hit.pattern)].id()];
      if (count++ == 0) first = static_cast<int>(i) + 1;
    }
  }
  std::map<std::string, std::pair<int, int>> found;
  for (const Hit& hit : Scan(*scanner, text).hits) {
    found[scanner->patterns()[static_cast<int>(hit.pattern)].id()] = {
        static_cast<int>(hit.count), static_cast<int>(hit.first_line)};
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found.size(), 7u);
  EXPECT_FALSE(scanner->without_texts().empty());
}

TEST(Scanner, HoldsNoMoreThanABlockOfAnyStream) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}}));
  std::string lines;
  while (lines.size() < (1 << 20)) lines += "[default0]: iteration 7 | loss 1.25 | lr 1e-4\n";
  const std::string one_line(1 << 20, 'x');
  for (const std::string& chunk : {lines, one_line}) {
    LogScan scan(*scanner, {});
    for (int i = 0; i < 256; ++i) {
      scan.Feed(chunk);
      ASSERT_LE(scan.buffered_bytes(), LogScan::Options().block_bytes);
    }
    scan.Feed("mark\n");
    const ScanResult result = scan.Finish();
    EXPECT_EQ(result.bytes, static_cast<std::int64_t>(256 * chunk.size() + 5));
    EXPECT_EQ(result.hits.size(), 1u);
  }
}

TEST(Scanner, IsSharedByThreads) {
  const auto scanner = MakeScanner(PatternsOf({{"a", "mark"}, {"b", "[^ ]+ gone"}}));
  const std::string expected = Show(*scanner, Scan(*scanner, kMixed));
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) result = Show(*scanner, Scan(*scanner, kMixed));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

// A pattern for releases, and the reader's interpretation of "good" and "bad" after one.
Patterns ReleasesThat(knowledge::v1::Outcome outcome) {
  Patterns patterns = PatternsOf({{"release", R"(nccl \d)"}});
  patterns[0].clear_where();
  patterns[0].add_where(v1::DESCRIPTION);
  patterns[0].set_outcome(outcome);
  return patterns;
}

LogScan::Options OfPeople() {
  LogScan::Options options;
  options.kind = TextKind::kDescription;
  options.mention = [](absl::string_view text, std::size_t end) {
    Mention mention;
    mention.name = std::string(text.substr(end - 1, 1));
    if (absl::StartsWith(text.substr(end), " good")) mention.outcome = knowledge::v1::WORKS;
    if (absl::StartsWith(text.substr(end), " bad")) mention.outcome = knowledge::v1::FAILS;
    return mention;
  };
  return options;
}

TEST(Scanner, AnOutcomeCountsOnlyWhereTheWordsTellIt) {
  const auto works = MakeScanner(ReleasesThat(knowledge::v1::WORKS));
  EXPECT_THAT(Found(*works, Scan(*works, "x\nnccl 2 good\n", OfPeople())),
              ElementsAre("release@2 x1"));
  EXPECT_THAT(Scan(*works, "nccl 2 bad\nnccl 3\n", OfPeople()).hits, IsEmpty());
  const auto fails = MakeScanner(ReleasesThat(knowledge::v1::FAILS));
  EXPECT_THAT(Found(*fails, Scan(*fails, "nccl 2 good\nnccl 2 bad\n", OfPeople())),
              ElementsAre("release@2 x1"));
  LogScan::Options deaf;
  deaf.kind = TextKind::kDescription;
  EXPECT_THAT(Scan(*works, "nccl 2 good\n", deaf).hits, IsEmpty());
}

TEST(Scanner, ReadsABoundedNumberOfMentions) {
  const auto works = MakeScanner(ReleasesThat(knowledge::v1::WORKS));
  int asked = 0;
  LogScan::Options options = OfPeople();
  options.mention = [&](absl::string_view, std::size_t) {
    ++asked;
    return Mention();
  };
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "nccl 2 bad ";
  Scan(*works, text + "\n", options);
  EXPECT_GT(asked, 0);
  EXPECT_LE(asked, 200);
}

TEST(Scanner, ReleasesDifferWhereOneWorksAndAnotherDoesNot) {
  const auto scanner = MakeScanner(ReleasesThat(knowledge::v1::DIFFERS));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "nccl 2 bad\nnccl 3 good\n", OfPeople())),
              ElementsAre("release@2 x1"));
  EXPECT_THAT(Found(*scanner, Scan(*scanner, "nccl 2 runs here\nnccl 3 good\n", OfPeople())),
              ElementsAre("release@2 x1"));
  for (const char* text :
       {"nccl 2 bad\n", "nccl 2 good\nnccl 3 good\n", "nccl 2 good\nnccl 2 bad\n",
        "nccl 2 bad\nnccl 3 bad\n", "nccl 2 bad\nnccl 3\n"}) {
    EXPECT_THAT(Scan(*scanner, text, OfPeople()).hits, IsEmpty()) << text;
  }
}

TEST(Scanner, WithoutPatternsStillCounts) {
  const auto scanner = MakeScanner({});
  EXPECT_EQ(Scan(*scanner, "a\nb\n").lines, 2);
}

TEST(Scanner, SaysWhichPatternIsWrongAndWhereItStands) {
  Patterns patterns = PatternsOf({{"good", "x"}, {"bad", "[a-"}});
  patterns[1].mutable_source()->set_file("signals/nccl.yaml");
  patterns[1].mutable_source()->set_line(12);
  EXPECT_THAT(Scanner::Create(patterns, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("signals/nccl.yaml:12: signal bad"))));
}

}  // namespace
}  // namespace galen::log_scan
