#include "common/observability/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/observability/trace/trace.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::log {
namespace {

using galen::testing::FakeClock;
using galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kDiagnosis[] = "tenants/t/diagnoses/d";
constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

Line LineOf(absl::string_view message, absl::Span<const Field> fields = {}) {
  return {.time = absl::FromUnixMillis(1'700'000'000'123),
          .level = Level::kWarning,
          .service = "galen-node",
          .message = message,
          .diagnosis = kDiagnosis,
          .trace_id = kTraceId,
          .fields = fields};
}

TEST(Render, WritesAnObjectForCollectors) {
  const Field fields[] = {{"peer", "127.0.0.1:5"}, {"empty", ""}};
  const std::string text = Render(LineOf("gave up", fields), Format::kJson);
  EXPECT_EQ(text,
            "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"WARNING\","
            "\"service\":\"galen-node\",\"message\":\"gave up\","
            "\"diagnosis\":\"tenants/t/diagnoses/d\","
            "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"peer\":\"127.0.0.1:5\"}\n");
}

TEST(Render, WritesALineForPeople) {
  const Field fields[] = {{"path", "/a b"}, {"n", "3"}};
  EXPECT_EQ(Render(LineOf("gave up", fields), Format::kText),
            "2023-11-14T22:13:20.123Z WARNING galen-node: gave up path=\"/a b\" n=3 "
            "diagnosis=tenants/t/diagnoses/d trace_id=4bf92f3577b34da6a3ce929d0e0e4736\n");
}

TEST(Render, LetsNoTextBreakItsLine) {
  const std::string evil = std::string("a\nb\r\t\"\\\x1b[31mred\x01 \xff end\0!", 24);
  const Field fields[] = {{"value", evil}};
  for (const Format format : {Format::kText, Format::kJson}) {
    const std::string text = Render(LineOf(evil, fields), format);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_THAT(text, EndsWith("\n"));
    EXPECT_TRUE(std::none_of(text.begin(), text.end() - 1, [](char c) {
      return static_cast<unsigned char>(c) < ' ';
    })) << text;
  }
  const nlohmann::json object = nlohmann::json::parse(Render(LineOf(evil, fields), Format::kJson));
  EXPECT_EQ(object["message"], object["value"]);
  EXPECT_THAT(object["message"].get<std::string>(), StartsWith("a\nb"));
}

TEST(Render, CutsWhatIsLong) {
  const std::string flood(1 << 20, 'x');
  const Field fields[] = {{"value", flood}};
  for (const Format format : {Format::kText, Format::kJson}) {
    EXPECT_LT(Render(LineOf(flood, fields), format).size(), 3u * kMostText);
  }
}

TEST(ParseFormat, KnowsThreeWords) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(*ParseFormat("text", pipe_ends[1]), Format::kText);
  EXPECT_EQ(*ParseFormat("json", pipe_ends[1]), Format::kJson);
  EXPECT_EQ(*ParseFormat("auto", pipe_ends[1]), Format::kJson);  // a pipe is not a terminal
  EXPECT_THAT(ParseFormat("yaml", pipe_ends[1]),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text, json or auto")));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

class LoggerTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  std::vector<std::string> lines_;
  bool reader_is_away_ = false;
  Logger logger_{{.service = "test", .format = Format::kJson, .burst = 3, .per_second = 1},
                 clock_,
                 [this](absl::string_view line) {
                   if (reader_is_away_) return false;
                   lines_.emplace_back(line);
                   return true;
                 }};
};

TEST_F(LoggerTest, SaysForWhatTheThreadWorks) {
  {
    const trace::Scope scope({trace::InTrace(kTraceId).value(), kDiagnosis});
    logger_.Tell(Level::kInfo, "here");
  }
  logger_.Tell(Level::kInfo, "there");
  ASSERT_EQ(lines_.size(), 2u);
  const nlohmann::json here = nlohmann::json::parse(lines_[0]);
  EXPECT_EQ(here["trace_id"], kTraceId);
  EXPECT_EQ(here["diagnosis"], kDiagnosis);
  EXPECT_FALSE(nlohmann::json::parse(lines_[1]).contains("trace_id"));
}

TEST_F(LoggerTest, CountsWhatIsTooMuchAndTellsTheCount) {
  for (int i = 0; i < 10; ++i) logger_.Tell(Level::kInfo, absl::StrCat("m", i));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("m0"), HasSubstr("m1"), HasSubstr("m2")));
  clock_.Advance(absl::Seconds(1));
  logger_.Tell(Level::kInfo, "again");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("m0"), HasSubstr("m1"), HasSubstr("m2"),
                                  HasSubstr("left out: 7"), HasSubstr("again")));
}

TEST_F(LoggerTest, TellsWhatAReaderMissedWhoWasAway) {
  reader_is_away_ = true;
  logger_.Tell(Level::kInfo, "lost");
  reader_is_away_ = false;
  logger_.Tell(Level::kInfo, "seen");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("left out: 1"), HasSubstr("seen")));
}

TEST_F(LoggerTest, KeepsItsBoundWhateverTheClockDoes) {
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(i % 2 == 0 ? -absl::Hours(1) : absl::Hours(1));
    logger_.Tell(Level::kInfo, "m");
    EXPECT_LE(lines_.size(), 3u + static_cast<std::size_t>(2 * (i + 1)));
  }
}

TEST(Logger, WritesWholeLinesFromManyThreads) {
  const FakeClock clock;
  std::string all;
  Logger logger({.service = "test", .format = Format::kJson, .burst = 1000, .per_second = 1}, clock,
                [&all](absl::string_view line) {
                  absl::StrAppend(&all, line);
                  return true;
                });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&logger] {
      for (int i = 0; i < 50; ++i) logger.Tell(Level::kInfo, "m");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 200);
}

}  // namespace
}  // namespace galen::log
