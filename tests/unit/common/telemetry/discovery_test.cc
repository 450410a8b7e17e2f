// The available quantities, and their measurements.
#include "common/telemetry/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/telemetry/open_metrics_source.h"
#include "common/timeseries/frozen.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::SizeIs;

Rules Shipped() {
  auto rules = LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  EXPECT_THAT(rules, IsOk());
  return *std::move(rules);
}

absl::Time At(int second) { return absl::FromUnixSeconds(1'700'000'000 + second); }

// Two nodes with two GPUs and a port each, a sample every ten seconds; the port's counter of n2
// restarts at second 60, and its last sample is at second 80.
std::unique_ptr<OpenMetricsSource> Cluster() {
  std::string text;
  for (int t = 0; t <= 120; t += 10) {
    for (const char* node : {"n1", "n2"}) {
      for (int gpu = 0; gpu < 2; ++gpu) {
        absl::StrAppend(&text, "DCGM_FI_DEV_POWER_USAGE{gpu=\"", gpu, "\",Hostname=\"", node,
                        "\"} ", 600 + gpu + t, " ", 1'700'000'000 + t, "\n");
        absl::StrAppend(&text, "DCGM_FI_DEV_MEMORY_TEMP{gpu=\"", gpu, "\",Hostname=\"", node,
                        "\"} 9223372036854775794 ", 1'700'000'000 + t, "\n");
      }
      const bool second = node[1] == '2';
      if (second && t > 80) continue;
      absl::StrAppend(
          &text,
          "node_infiniband_local_ack_timeout_errors_total{device=\"mlx5_0\",port=\"1\",instance=\"",
          node, ":9100\"} ", second ? (t < 60 ? 1000 + t * 2 : (t - 60) * 2 + 4) : 5, " ",
          1'700'000'000 + t, "\n");
    }
  }
  return OpenMetricsSource::OfText("cluster.om", text + "go_goroutines 5 1700000000\n# EOF\n",
                                   std::nullopt, {});
}

TEST(DiscoveryTest, TellsWhatIsThereAndWhatIsNot) {
  const auto source = Cluster();
  const auto found = Discover(*source, Shipped(), At(0), At(120), {"n1", "n2", "n3"}, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->complete);
  ASSERT_THAT(found->families, SizeIs(2));
  EXPECT_EQ(found->families[0].family, "dcgm");
  EXPECT_THAT(found->families[0].metrics,
              ElementsAre("DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_POWER_USAGE"));
  EXPECT_THAT(found->families[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(found->families[0].devices, 4U);
  EXPECT_EQ(found->families[1].family, "rdma");
  EXPECT_THAT(found->absent, Contains("training"));
  EXPECT_THAT(found->absent, Contains("amd_device"));
  EXPECT_THAT(found->other, ElementsAre("go_goroutines"));
  EXPECT_THAT(found->missing_nodes, ElementsAre("n3"));
}

TEST(DiscoveryTest, AMachineThatPrometheusAsksInVainIsMissing) {
  const auto source =
      OpenMetricsSource::OfText("up.om",
                                "up{job=\"dcgm\",instance=\"n1:9400\"} 1 1700000000\n"
                                "up{job=\"dcgm\",instance=\"n2:9400\"} 0 1700000000\n"
                                "up{job=\"node\",instance=\"n2:9100\"} 1 1700000000\n"
                                "node_load1{instance=\"n1:9100\"} 5 1700000000\n"
                                "# EOF\n",
                                std::nullopt, {});
  const auto found = Discover(*source, Shipped(), At(0), At(120), {"n1", "n2"}, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(found->missing_nodes, ElementsAre("n2"));
  const auto up = Measure(*source, Shipped(), "exporter_up", {At(0), At(0), absl::Seconds(30)},
                          absl::Seconds(30), {});
  ASSERT_THAT(up, IsOk());
  ASSERT_THAT(up->rows, SizeIs(3));
  EXPECT_EQ(up->rows[1].place, (Place{.node = "n2", .device = "dcgm"}));
  EXPECT_THAT(up->values.Row(1), ElementsAre(0));
}

TEST(DiscoveryTest, AGaugeIsMeasuredOnOneAxis) {
  const auto source = Cluster();
  const auto power = Measure(*source, Shipped(), "gpu_power", {At(0), At(120), absl::Seconds(30)},
                             absl::Seconds(30), {});
  ASSERT_THAT(power, IsOk());
  ASSERT_THAT(power->rows, SizeIs(4));
  EXPECT_EQ(power->rows[2].place.node, "n2");
  EXPECT_EQ(power->rows[3].place.device, "1");
  EXPECT_THAT(power->values.Row(3), ElementsAre(601, 631, 661, 691, 721));
  ASSERT_THAT(power->answers, SizeIs(1));
  EXPECT_EQ(power->answers[0].query, "DCGM_FI_DEV_POWER_USAGE");
}

TEST(DiscoveryTest, ACounterIsItsGrowthAndEndsUnknownNotZero) {
  const auto source = Cluster();
  const auto growth = Measure(*source, Shipped(), "rdma_retransmissions",
                              {At(0), At(120), absl::Seconds(20)}, absl::Seconds(20), {});
  ASSERT_THAT(growth, IsOk());
  ASSERT_THAT(growth->rows, SizeIs(2));
  EXPECT_EQ(growth->rows[1].place, (Place{.node = "n2", .device = "mlx5_0", .port = "1"}));
  // Before the first sample nothing is known; 2 a second; at the reset what came after it alone;
  // then 2 again, and of the end nothing.
  EXPECT_THAT(growth->values.Row(1), ElementsAre(IsNan(), FloatEq(2), FloatEq(2), FloatEq(1.2F),
                                                 FloatEq(2), IsNan(), IsNan()));
  EXPECT_THAT(growth->values.Row(0).subspan(1), Each(0));
}

// One step at a time, as early warning reads: the scrapes are near the minute, not on it.
TEST(DiscoveryTest, TheGrowthOfASingleStepIsKnownWheneverItsScrapesFall) {
  for (const int every : {15, 30, 60}) {
    for (int second = 0; second < every; second += 5) {
      std::string text = "# TYPE DCGM_FI_DEV_ECC_SBE_VOL_TOTAL counter\n";
      for (int at = second - 240; at <= 240; at += every) {
        absl::StrAppend(&text, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu=\"0\",Hostname=\"n1\"} ",
                        1000 + 2 * at, " ", 1'700'000'000 + at, "\n");
      }
      const auto source = OpenMetricsSource::OfText("ecc.om", text + "# EOF\n", std::nullopt, {});
      const auto growth = Measure(*source, Shipped(), "gpu_ecc_correctable",
                                  {At(0), At(0), absl::Seconds(60)}, absl::Minutes(2), {});
      ASSERT_THAT(growth, IsOk());
      EXPECT_THAT(growth->values.Row(0), ElementsAre(FloatEq(2)))
          << "each " << every << " s, at second " << second;
    }
  }
}

TEST(DiscoveryTest, TwoSeriesOfOnePlaceAreOneAndADisagreementIsSaid) {
  const auto source = OpenMetricsSource::OfText(
      "two.om",
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"n1\",pod=\"a\"} 600 1700000000\n"
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"n1\",pod=\"b\"} 700 1700000060\n"
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",Hostname=\"n1\",pod=\"a\"} 600 1700000000\n"
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",Hostname=\"n1\",pod=\"b\"} 700 1700000000\n# EOF\n",
      std::nullopt, {});
  const auto power = Measure(*source, Shipped(), "gpu_power", {At(0), At(60), absl::Seconds(60)},
                             absl::Seconds(30), {});
  ASSERT_THAT(power, IsOk());
  ASSERT_THAT(power->rows, SizeIs(2));
  EXPECT_THAT(power->values.Row(0), ElementsAre(600, 700));
  EXPECT_THAT(power->warnings, ElementsAre(HasSubstr("and they differ")));
}

TEST(DiscoveryTest, WhatNobodyMeasuredIsNotFound) {
  const auto source = Cluster();
  EXPECT_THAT(Measure(*source, Shipped(), "step_time", {At(0), At(120), absl::Seconds(30)},
                      absl::Seconds(30), {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no series of step_time")));
  EXPECT_THAT(Measure(*source, Shipped(), "nonsense", {At(0), At(120), absl::Seconds(30)},
                      absl::Seconds(30), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nonsense")));
}

}  // namespace
}  // namespace galen::telemetry
