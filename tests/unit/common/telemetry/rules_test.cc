// The knowledge of exporters in knowledge/telemetry.
#include "common/telemetry/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "common/telemetry/open_metrics.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace rules_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

const Rules& Shipped() {
  static const auto* const rules =
      new absl::StatusOr<Rules>(LoadRules({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_THAT(*rules, IsOk());
  return **rules;
}

TEST(RulesTest, SeriesAreMappedToNodeDeviceAndRank) {
  const Family* const dcgm = Shipped().FamilyOf("DCGM_FI_DEV_GPU_TEMP");
  ASSERT_NE(dcgm, nullptr);
  EXPECT_EQ(dcgm->name, "dcgm");
  EXPECT_EQ(
      dcgm->PlaceOf(
          {{"gpu", "3"}, {"Hostname", "node-7"}, {"instance", "10.0.0.7:9400"}, {"UUID", "GPU-1"}}),
      (Place{.node = "node-7", .device = "3", .uuid = "GPU-1"}));
  EXPECT_EQ(dcgm->PlaceOf({{"gpu", "3"}, {"Hostname", ""}, {"instance", "10.0.0.7:9400"}}).node,
            "10.0.0.7");
  const Family* const rdma = Shipped().FamilyOf("node_infiniband_link_downed_total");
  ASSERT_NE(rdma, nullptr);
  EXPECT_EQ(rdma->name, "rdma");
  EXPECT_EQ(rdma->PlaceOf({{"device", "mlx5_0"}, {"port", "1"}, {"instance", "n1:9100"}}),
            (Place{.node = "n1", .device = "mlx5_0", .port = "1"}));
  EXPECT_EQ(Shipped().FamilyOf("node_load1")->name, "node");
  EXPECT_EQ(Shipped()
                .FamilyOf("tb_perf_step_time_seconds")
                ->PlaceOf({{"process_index", "12"}, {"host", "h3"}})
                .rank,
            "12");
  EXPECT_EQ(Shipped().FamilyOf("go_goroutines"), nullptr);
}

TEST(RulesTest, AnAddressLosesItsPortAlone) {
  const Family& node = *Shipped().FamilyOf("node_load1");
  for (const auto& [instance, expected] :
       std::map<std::string, std::string>{{"n1:9100", "n1"},
                                          {"n1", "n1"},
                                          {"[fe80::1]:9100", "[fe80::1]"},
                                          {"fe80::1:9100", "fe80::1:9100"},
                                          {":9100", ":9100"},
                                          {"n1:", "n1:"},
                                          {"n1:abc", "n1:abc"}}) {
    EXPECT_EQ(node.PlaceOf({{"instance", instance}}).node, expected);
  }
}

TEST(RulesTest, WhatAnExporterWritesForNothingIsUnknown) {
  TimeSeries series{
      {}, {{0, 60}, {1, 9223372036854775794.0}, {2, 2147483632.0}, {3, 140737488355328.0}, {4, 0}}};
  Shipped().FamilyOf("DCGM_FI_DEV_MEMORY_TEMP")->Forget(series);
  EXPECT_EQ(series.samples[0].value, 60);
  EXPECT_TRUE(std::isnan(series.samples[1].value));
  EXPECT_TRUE(std::isnan(series.samples[2].value));
  EXPECT_TRUE(std::isnan(series.samples[3].value));
  EXPECT_EQ(series.samples[4].value, 0);
}

TEST(RulesTest, EveryQuantityIsOfAFamily) {
  for (const Quantity& quantity : Shipped().quantities) {
    for (const MetricOf& of : quantity.metrics)
      EXPECT_NE(Shipped().FamilyOf(of.metric), nullptr) << of.metric;
  }
  EXPECT_TRUE(Shipped().Find("rdma_retransmissions")->counter);
  EXPECT_EQ(Shipped().Find("nonsense"), nullptr);
}

TEST(RulesTest, RealExportersAreKnown) {
  const fs::path fixtures = fs::path(GALEN_SOURCE_DIR) / "../shared/fixtures/openmetrics";
  if (!fs::exists(fixtures)) GTEST_SKIP() << fixtures << " is not here";
  const std::map<std::string, std::string> expected = {
      {"dcgm-exporter-readme-docker.prom", "dcgm"},
      {"amd-dme-metrics-mini.prom", "amd_device"},
      {"nvidia_gpu_exporter-h200-load.prom", "nvidia_smi"},
      {"efa-node-exporter-4xefa.prom", "rdma"},
      {"node_exporter-e2e-full.prom", "node"}};
  for (const auto& [file, family] : expected) {
    std::ifstream in(fixtures / file);
    std::set<std::string> seen;
    std::string line;
    while (std::getline(in, line)) {
      const auto parsed = ParseMetricLine(line);
      const Family* const found =
          parsed.ok() ? Shipped().FamilyOf(parsed->labels.at(kMetricName)) : nullptr;
      if (found != nullptr) seen.insert(found->name);
    }
    EXPECT_EQ(seen.count(family), 1U) << file;
  }
}

TEST(RulesTest, AMetricOfOneGpuSaysSo) {
  const Quantity* throughput = Shipped().Find("throughput");
  ASSERT_NE(throughput, nullptr);
  for (const MetricOf& metric : throughput->metrics) {
    // A scalar of a file has its name in a label, and programs name it as they like.
    if (metric.metric == "job_log_scalar") continue;
    const bool one = metric.metric.find("per_device") != std::string::npos ||
                     metric.metric.find("per_gpu") != std::string::npos;
    EXPECT_EQ(metric.of, one ? "gpu" : "") << metric.metric;
  }
}

TEST(RulesTest, MistakesAreNamedWithTheirPlace) {
  for (const auto& [text, what] : std::map<std::string, std::string>{
           {"", "names neither families nor quantities"},
           {"families:\n  - {name: a}\n", "f:2: families: an entry needs"},
           {"families:\n  - {name: a, metrics: '(', labels: {node: [x]}}\n", "f:2: metrics"},
           {"families:\n  - {name: a, metrics: 'b', labels: {nodes: [x]}}\n", "nodes: unknown"},
           {"families:\n  - {name: a, metrics: 'b', labels: {node: [x]}, unknown: [{from: 2, to: "
            "1}]}\n",
            "from is more than to"},
           {"quantities:\n  - {name: a, metrics: [{metric: 'rate(b)'}]}\n", "no selector"},
           {"quantities:\n  - {name: a, kind: thing}\n", "gauge or counter"},
           {"quantities:\n  - {name: a, metrics: [{metric: b, of: rack}]}\n", "of: gpu"},
           {"other: 1\n", "other: unknown"}}) {
    EXPECT_THAT(ParseRules(text, "f"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << text;
  }
  EXPECT_THAT(LoadRules({"/nowhere"}), StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace rules_test
}  // namespace galen::telemetry
