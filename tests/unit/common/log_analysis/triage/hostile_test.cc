// Claims about hostile logs: they take bounded memory and do not mislead.
#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace {

std::int64_t PeakKib() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostileLogs, AHundredMegabytesWithoutANewlineTakeLittleMemory) {
  const std::string piece(1 << 20, 'x');
  JobTriage job(RealCatalogue(), {});
  const std::int64_t before = PeakKib();
  job.BeginLog("a.log");
  job.Feed("completed step: 1, seconds: 2.0, ");
  for (int i = 0; i < 100; ++i) job.Feed(piece);
  job.Feed("\nValueError: late\n");
  job.EndLog();
  const JobReport report = job.Finish();
  EXPECT_EQ(PrimaryOf(report), "exception");
  EXPECT_EQ(report.primary->first.line, 2);
  EXPECT_EQ(report.progress.last_step, 1);
  EXPECT_LT(PeakKib() - before, 64 << 10);
}

TEST(HostileLogs, MillionsOfRanksAreCountedAndNotKept) {
  JobTriage job(RealCatalogue(), {});
  job.BeginLog("a.log");
  for (int i = 0; i < 150'000; ++i) {
    job.Feed(absl::StrCat("[rank", i, "]:completed step: 3, seconds: 1.0, loss: nan\n"));
  }
  for (int i = 0; i < 20'000; ++i) job.Feed(absl::StrCat("[rank", i, "]: ValueError: x\n"));
  job.EndLog();
  const JobReport report = job.Finish();
  EXPECT_GE(report.progress.writers, 65'536);
  EXPECT_EQ(PrimaryOf(report), "exception");
  EXPECT_EQ(report.primary->count, 20'000);
  EXPECT_EQ(report.primary->writers, 1024);
  EXPECT_LE(report.ends.size(), JobReport::kMostEnds);
}

TEST(HostileLogs, BytesThatAreNoTextStayOutOfTheReport) {
  const std::string bad = "\xff\xfe\x80 ValueError: \xc3\x28 \x1b[31m\x07 x";
  const JobReport report = TriageOf(absl::StrCat("\xff\xff\n", bad, "\nValueError: \xff\xfe\n"));
  ASSERT_TRUE(report.primary.has_value());
  EXPECT_EQ(report.primary->first.text.find('\xff'), std::string::npos);
  EXPECT_EQ(report.primary->first.text.find('\x1b'), std::string::npos);
}

TEST(HostileLogs, NumbersThatOverflowAreNone) {
  const JobReport report = TriageOf(
      "completed step: 99999999999999999999999, seconds: 1.0, loss: 1\n"
      "completed step: 9223372036854775807, seconds: 1.0, loss: 1\n"
      "completed step: 7, seconds: 1e308, TFLOP/s/device: nan, Tokens/s/device: inf, loss: 1\n"
      "completed step: 8, seconds: nan, loss: inf\n"
      "Config param checkpoint_period: 99999999999999999999\n"
      "Config param checkpoint_period: 0\n"
      "Status: FAILED (exit 99999999999999999999)\n"
      " iteration 18446744073709551616/ 3 | consumed samples: 1 | elapsed time\n"
      " iteration 3/ 18446744073709551616 | consumed samples: 1 | elapsed time per iteration (ms): "
      "-5\n");
  EXPECT_EQ(report.progress.last_step, 8);
  EXPECT_FALSE(report.progress.timed);
  EXPECT_EQ(report.progress.saved_step, std::nullopt);
  EXPECT_TRUE(report.courses.empty());
}

TEST(HostileLogs, ManyLogsAreBounded) {
  JobTriage job(RealCatalogue(), {});
  for (std::size_t i = 0; i < JobTriage::kMaxLogs + 10; ++i) {
    job.BeginLog(absl::StrCat("rank-", i, ".log"));
    job.Feed("completed step: 1, seconds: 1.0, loss: 1\n");
    job.EndLog();
  }
  EXPECT_EQ(job.Finish().logs.size(), JobTriage::kMaxLogs);
}

TEST(HostileLogs, NothingInALineReachesBeyondIt) {
  const JobReport report =
      TriageOf("completed step: \n4, seconds: 1\niteration 5/\n 9 | consumed\n\n\n\r\n\r\r\n");
  EXPECT_EQ(report.progress.last_step, std::nullopt);
}

}  // namespace
}  // namespace galen::triage
