#include "common/log_analysis/scan/timestamp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::log_scan {
namespace {

std::string Show(absl::string_view line, const TimeContext& context = {}) {
  const std::optional<TimeStamp> stamp = FindTimeStamp(line);
  if (!stamp.has_value()) return "none";
  const std::optional<absl::Time> time = Resolve(*stamp, context);
  if (!time.has_value()) return "no year";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", *time, absl::UTCTimeZone());
}

TEST(TimeStamp, IsReadInTheFormsThatProgramsPrint) {
  const struct {
    const char* line;
    const char* time;
  } kCases[] = {
      {"2024-05-01T12:00:00Z x", "2024-05-01T12:00:00Z"},
      {"2024-05-01T12:00:00.250+02:00 host kernel: x", "2024-05-01T10:00:00.25Z"},
      {"2024-05-01T12:00:00,345948+0000 x", "2024-05-01T12:00:00.345948Z"},
      {"kern  :info  : 2024-05-01T12:00:00,5-06:00 x", "2024-05-01T18:00:00.5Z"},
      {"[2024-05-01 12:00:00,123] [INFO] x", "2024-05-01T12:00:00.123Z"},
      {"3: 2024-05-01 12:00:00,441 - root - INFO - x", "2024-05-01T12:00:00.441Z"},
      {"2024/05/01 12:00:00 x", "2024-05-01T12:00:00Z"},
      {"2024-05-01 12:00:00 +0100 x", "2024-05-01T11:00:00Z"},
      {"[Wed May  1 12:00:00 2024] NVRM: x", "2024-05-01T12:00:00Z"},
      {"I20240501 12:00:00.5 7 a.cc:1] x", "2024-05-01T12:00:00.5Z"},
      {"1714564800.5 x", "2024-05-01T12:00:00.5Z"},
      {"[1714564800] x", "2024-05-01T12:00:00Z"},
      {"1714564800123 x", "2024-05-01T12:00:00.123Z"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Show(c.line), c.time) << c.line;
}

TEST(TimeStamp, WithoutAYearTakesTheOneClosestToTheIncident) {
  TimeContext context;
  context.near = absl::FromCivil(absl::CivilDay(2025, 1, 2), absl::UTCTimeZone());
  const struct {
    const char* line;
    const char* time;
  } kCases[] = {
      {"Jan  1 12:00:00 node-1 kernel: x", "2025-01-01T12:00:00Z"},
      {"Dec 31 23:59:59 node-1 kernel: x", "2024-12-31T23:59:59Z"},
      {"Jan 11 18:58:28 2024-host kernel: x", "2025-01-11T18:58:28Z"},
      {"I0103 12:00:00.5 7 a.cc:1] x", "2025-01-03T12:00:00.5Z"},
      {"[rank3]:[E103 12:00:00.25 ProcessGroupNCCL.cpp:563] x", "2025-01-03T12:00:00.25Z"},
      {"INFO 12-11 08:34:13 api_server.py:651] x", "2024-12-11T08:34:13Z"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Show(c.line, context), c.time) << c.line;
    EXPECT_EQ(Show(c.line), "no year") << c.line;
  }
}

TEST(TimeStamp, WithoutAZoneIsInTheZoneOfTheContext) {
  TimeContext context;
  context.zone = absl::FixedTimeZone(2 * 60 * 60);
  EXPECT_EQ(Show("2024-05-01 12:00:00 x", context), "2024-05-01T10:00:00Z");
  EXPECT_EQ(Show("2024-05-01 12:00:00Z x", context), "2024-05-01T12:00:00Z");
}

TEST(TimeStamp, IsNotSeenWhereThereIsNone) {
  const std::vector<std::string> kLines = {
      "",
      "[123.456] NVRM: x",
      "[1234567.890123] NVRM: x",
      "loss: 2024-05-32 12:00:00",
      "2024-13-01 12:00:00",
      "2024-02-30 12:00:00",
      "2024-05-01 24:00:00",
      "[07:24:41] node-b",
      "iteration 1234567890123456",
      "Mayor 1 12:00:00",
      "version 2024-05",
      std::string(200, 'x') + " 2024-05-01 12:00:00",
  };
  for (const std::string& line : kLines) EXPECT_EQ(Show(line), "none") << line;
}

}  // namespace
}  // namespace galen::log_scan
