// Logs as series on the time axis of telemetry.
#include "services/execution/job_logs/log_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::job_logs {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<telemetry::TimeSeries> SeriesOf(const std::string& log) {
  LogSeries series;
  triage::TriageOptions options;
  options.near = triage::At("2026-02-25T00:00:00Z");
  options.latest = options.near;
  series.Watch(options);
  triage::JobTriage job(triage::RealCatalogue(), options);
  job.BeginLog("job.log");
  job.Feed(log);
  job.EndLog();
  const triage::JobReport report = job.Finish();
  return series.Take(report.progress.end);
}

const telemetry::TimeSeries* Find(const std::vector<telemetry::TimeSeries>& all,
                                  const std::string& name) {
  for (const telemetry::TimeSeries& series : all) {
    if (series.labels.at(telemetry::kMetricName) == name) return &series;
  }
  return nullptr;
}

TEST(LogSeriesTest, DatedStepsStandWhereTheyWereDone) {
  std::string log;
  for (int step = 1; step <= 5; ++step) {
    absl::StrAppend(&log, " [2026-02-24 10:0", step, ":00] iteration        ", step,
                    "/     100 | consumed samples:  1024 | elapsed time per iteration (ms): "
                    "40000.0 | global batch size:  1024 | lm loss: 2.5E+00 |\n");
  }
  const auto all = SeriesOf(log);
  const auto* const seconds = Find(all, "job_log_step_seconds");
  ASSERT_NE(seconds, nullptr);
  EXPECT_EQ(seconds->samples.back().at, absl::ToUnixMillis(triage::At("2026-02-24T10:05:00Z")));
  EXPECT_EQ(seconds->samples.back().value, 40);
  const auto* const samples = Find(all, "job_log_samples_per_second");
  ASSERT_NE(samples, nullptr);
  EXPECT_NEAR(samples->samples.back().value, 25.6, 0.01);
  EXPECT_THAT(Find(all, "job_log_step")->samples, SizeIs(5));
}

TEST(LogSeriesTest, StepsWithoutATimeAreCountedFromTheLastThatOneLineTold) {
  std::string log = "0: 2026-02-24 10:00:00 Synchronizing hosts before training loop\n";
  for (int step = 0; step < 4; ++step) {
    absl::StrAppend(&log, "0: completed step: ", step,
                    ", seconds: 30.0, TFLOP/s/device: 200.0, Tokens/s/device: 3200.0, loss: 2.0\n");
  }
  const auto all = SeriesOf(log);
  const auto* const tokens = Find(all, "job_log_tokens_per_gpu_second");
  ASSERT_NE(tokens, nullptr);
  EXPECT_EQ(tokens->samples.back().at, absl::ToUnixMillis(triage::At("2026-02-24T10:02:00Z")));
}

TEST(LogSeriesTest, WithoutAnyTimeThereIsNoSeries) {
  EXPECT_THAT(SeriesOf("0: completed step: 1, seconds: 30.0, TFLOP/s/device: 200.0\n"
                       "0: completed step: 2, seconds: 30.0, TFLOP/s/device: 200.0\n"),
              IsEmpty());
}

TEST(LogSeriesTest, TasksThatWereGivenUpAreTheirMachines) {
  const auto all = SeriesOf(
      "Config param jax_distributed_heartbeat_timeout_seconds: 900\n"
      "8: chi2853:2211:2400 [0] init.cc:2095 NCCL WARN MSCCL++: Feature not enabled\n"
      "9: chi2865:2211:2400 [0] init.cc:2095 NCCL WARN MSCCL++: Feature not enabled\n"
      "0: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
      "0: /job:jax_worker/replica:0/task:8\n"
      "0: /job:jax_worker/replica:0/task:10\n"
      "8: F0224 19:21:00.000000 1 client.h:77] Terminating process because the JAX distributed "
      "service detected fatal errors.\n");
  const auto* const accused = Find(all, "job_log_accused_timeout_seconds");
  ASSERT_NE(accused, nullptr);
  EXPECT_EQ(accused->labels.at("host"), "chi2853");
  EXPECT_EQ(accused->samples.front().value, 900);
  EXPECT_EQ(accused->samples.front().at, absl::ToUnixMillis(triage::At("2026-02-24T19:21:00Z")));
  // The machine of task 10 is unknown.
  EXPECT_THAT(all, SizeIs(1));
}

}  // namespace
}  // namespace galen::job_logs
