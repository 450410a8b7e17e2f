// Files of training programs as series on the time axis of telemetry.
#include "services/execution/job_logs/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/open_metrics_source.h"
#include "services/execution/job_logs/overlay_source.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::job_logs {
namespace run_series_test {

using galen::testing::IsOk;
using galen::testing::Scratch;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::int64_t kStart = 1'700'000'000;

// An hour of steps of 30 s; from the middle on of 45 s.
std::string EventFile() {
  std::string file = run_records::EventFileHead(kStart);
  double at = kStart;
  for (std::uint64_t step = 1; at < kStart + 3600; ++step) {
    const double seconds = at < kStart + 1800 ? 30 : 45;
    at += seconds;
    absl::StrAppend(
        &file, run_records::Event(at, step, run_records::Simple("learning/loss", 2.0F)),
        run_records::Event(
            at, step, run_records::Simple("throughput(tps)", static_cast<float>(9000 / seconds))));
  }
  return file;
}

telemetry::Rules RulesWith(const std::string& site) {
  const Scratch scratch;
  if (!site.empty()) scratch.Write("telemetry/sources.yaml", site);
  auto rules = telemetry::LoadRules(
      site.empty() ? std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge"}
                   : std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge", scratch / ""});
  EXPECT_THAT(rules, IsOk());
  return *std::move(rules);
}

OverlaySource SourceOf(std::vector<telemetry::TimeSeries> series) {
  return {std::shared_ptr<telemetry::Source>(telemetry::OpenMetricsSource::OfText(
              "none", "# EOF\n", std::nullopt, telemetry::FileLimits())),
          std::move(series)};
}

// The values of a quantity, one every five minutes.
std::vector<float> Measured(telemetry::Source& source, const telemetry::Rules& rules,
                            const std::string& quantity) {
  const auto measured = telemetry::Measure(
      source, rules, quantity,
      {absl::FromUnixSeconds(kStart), absl::FromUnixSeconds(kStart + 3600), absl::Minutes(5)},
      absl::Minutes(5), telemetry::Call());
  EXPECT_THAT(measured, IsOk()) << quantity;
  if (!measured.ok()) return std::vector<float>(13);
  EXPECT_THAT(measured->rows, SizeIs(1)) << quantity;
  const auto row = measured->values.Row(0);
  return {row.begin(), row.end()};
}

TEST(RunSeries, ScalarsAreTheQuantitiesThatTheyAreNamedAfter) {
  const Scratch scratch;
  const std::string events = scratch.Write("exp/events.out.tfevents.1.host", EventFile());
  const std::string log = scratch.Write("train.log", "step 1\n");
  EXPECT_TRUE(IsRun(events));
  EXPECT_FALSE(IsRun(log));
  const auto runs = SeriesOfRuns({events, log}, telemetry::Call());
  ASSERT_THAT(runs, IsOk());
  EXPECT_THAT(runs->others, ElementsAre(log));
  OverlaySource source = SourceOf(runs->series);
  const telemetry::Rules rules = RulesWith("");
  const std::vector<float> throughput = Measured(source, rules, "throughput");
  ASSERT_THAT(throughput, SizeIs(13));
  EXPECT_FLOAT_EQ(throughput[3], 300);
  EXPECT_FLOAT_EQ(throughput[11], 200);
  // No scalar has it: it is the time between the steps.
  const std::vector<float> seconds = Measured(source, rules, "step_time");
  EXPECT_FLOAT_EQ(seconds[3], 30);
  EXPECT_FLOAT_EQ(seconds[11], 45);
  EXPECT_FLOAT_EQ(Measured(source, rules, "loss")[6], 2);
}

TEST(RunSeries, ASitesOwnNameTakesOneLine) {
  const Scratch scratch;
  const std::string metric =
      scratch.Write("mlruns/0/8f/metrics/our_speed",
                    absl::StrCat(kStart, "000 7 1\n", kStart + 3500, "000 7 2\n"));
  const auto runs = SeriesOfRuns({metric}, telemetry::Call());
  ASSERT_THAT(runs, IsOk());
  OverlaySource source = SourceOf(runs->series);
  const telemetry::Rules rules =
      RulesWith("series:\n  throughput: job_log_scalar{tag=\"our_speed\"}\n");
  // A value speaks for the time since the one before it.
  EXPECT_FLOAT_EQ(Measured(source, rules, "throughput")[5], 7);
}

TEST(RunSeries, TheTextOfIntakeTellsTheSame) {
  const Scratch scratch;
  run_records::RunRecords records;
  run_records::ReadRun(run_records::Form::kEventFile, "exp/events",
                       run_records::InPieces(EventFile(), 999), records);
  const std::string text = run_records::AsOpenMetrics(run_records::Named(std::move(records).Take()),
                                                      std::size_t{1} << 20);
  const auto of_text = SeriesOfRuns({scratch.Write("exp.om", text)}, telemetry::Call());
  const auto of_file = SeriesOfRuns({scratch.Write("exp/events", EventFile())}, telemetry::Call());
  ASSERT_THAT(of_text, IsOk());
  ASSERT_THAT(of_file, IsOk());
  ASSERT_EQ(of_text->series.size(), of_file->series.size());
  for (std::size_t i = 0; i < of_text->series.size(); ++i) {
    EXPECT_EQ(of_text->series[i].samples.size(), of_file->series[i].samples.size());
    EXPECT_EQ(of_text->series[i].samples.back().value, of_file->series[i].samples.back().value);
  }
}

TEST(RunSeries, AReadingThatNobodyWaitsForEnds) {
  const Scratch scratch;
  std::string file = EventFile();
  while (file.size() < (3U << 20)) file += file.substr(run_records::EventFileHead(kStart).size());
  telemetry::Call call;
  Cancellation cancelled;
  cancelled.Cancel();
  call.cancellation = &cancelled;
  EXPECT_EQ(SeriesOfRuns({scratch.Write("events", file)}, call).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace run_series_test
}  // namespace galen::job_logs
