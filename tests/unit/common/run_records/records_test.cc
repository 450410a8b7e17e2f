#include "common/run_records/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::run_records {
namespace records_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::int64_t kStart = 1'700'000'000'000;

TEST(RunRecords, StandInTheOrderOfTimeAndTheLaterOfTwoCounts) {
  RunRecords records;
  records.Add("r", "loss", {kStart + 2000, 2, 2});
  records.Add("r", "loss", {kStart + 1000, 1, 3});
  records.Add("r", "loss", {kStart + 1000, 1, 4});
  records.Add("r", "loss", {7, 1, 4});
  records.Add("r", "", {kStart, 1, 4});
  EXPECT_EQ(records.left_out(), 2U);
  EXPECT_EQ(Shown(std::move(records).Take()), "r loss: 1700000001000/1=4 1700000002000/2=2\n");
}

TEST(RunRecords, KeepToTheirLimits) {
  RunRecords records({.series = 2, .points = 3});
  for (const char* const tag : {"a", "b", "c", "a", "a"}) records.Add("r", tag, {kStart, 1, 1});
  EXPECT_EQ(records.points(), 3U);
  EXPECT_EQ(records.left_out(), 2U);
  EXPECT_THAT(std::move(records).Take(), SizeIs(2));
}

TEST(Named, StepsTellHowLongOneTook) {
  RunRecords records;
  records.Add("r", "loss", {kStart, 0, 3});
  records.Add("r", "loss", {kStart + 20'000, 10, 2});
  // The run was restarted from a checkpoint.
  records.Add("r", "loss", {kStart + 900'000, 5, 2.5});
  records.Add("r", "loss", {kStart + 920'000, 15, 2});
  records.Add("r", "eval", {kStart + 920'000, 15, 2});
  const std::vector<NamedSeries> named = Named(std::move(records).Take());
  ASSERT_THAT(named, SizeIs(4));
  EXPECT_EQ(named[0].name, kStep);
  EXPECT_THAT(named[0].points, SizeIs(4));
  EXPECT_EQ(named[1].name, kStepSeconds);
  ASSERT_THAT(named[1].points, SizeIs(2));
  EXPECT_EQ(named[1].points[0].value, 2);
  EXPECT_EQ(named[1].points[1].value, 2);
  EXPECT_EQ(named[2].tag, "eval");
}

TEST(AsOpenMetrics, NamesRunAndTag) {
  const std::string text = AsOpenMetrics(
      {{kScalar, "a \"b\"\n", "train/loss", {{kStart, 1, 2.5}, {kStart + 1500, 2, std::nan("")}}}},
      1 << 20);
  EXPECT_EQ(text,
            "# TYPE job_log_scalar gauge\n"
            "job_log_scalar{run_id=\"a \\\"b\\\"\\n\",tag=\"train/loss\"} 2.5 1700000000.000\n"
            "job_log_scalar{run_id=\"a \\\"b\\\"\\n\",tag=\"train/loss\"} NaN 1700000001.500\n"
            "# EOF\n");
}

TEST(AsOpenMetrics, KeepsToItsSizeAndKeepsTheLastPoint) {
  NamedSeries series{kScalar, "r", "loss", {}};
  for (int i = 0; i < 10'000; ++i) series.points.push_back({kStart + i * 1000, i, 1.0 * i});
  const std::string text = AsOpenMetrics({series}, 10'000);
  EXPECT_LE(text.size(), 10'000U);
  EXPECT_THAT(text, StartsWith("# TYPE job_log_scalar gauge\n# one of 64 points of each"));
  EXPECT_THAT(text, HasSubstr("} 9999 1700009999.000\n# EOF\n"));
  EXPECT_THAT(AsOpenMetrics({series}, 10), Not(HasSubstr("9999")));
}

}  // namespace records_test
}  // namespace galen::run_records
