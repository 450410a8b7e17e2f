// Scenes as a bundle, as a TSDB that a real Prometheus serves, and in memory: the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/host/bundle.h"
#include "common/host/bundle_files.h"
#include "common/host/process.h"
#include "common/telemetry/open_metrics_source.h"
#include "common/telemetry/stored_tsdb.h"
#include "tests/scenarios/memory_source.h"
#include "tests/scenarios/scene.h"
#include "tests/scenarios/write_scene.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/scenarios/looking.h"

namespace galen::scenarios {
namespace {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Folder {
 public:
  Folder() {
    std::string pattern = absl::StrCat(::testing::TempDir(), "galen_scene_XXXXXX");
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

Scene Small(const std::string& study, std::uint64_t seed) {
  auto scene = MakeScene(study, seed, {.nodes = 6});
  EXPECT_THAT(scene, IsOk());
  return *std::move(scene);
}

// Both sources must have the same samples of some metrics.
void ExpectEqual(const Scene& scene, telemetry::Source& a, telemetry::Source& b) {
  for (const std::string& metric :
       scene.style == Style::kAmd
           ? std::vector<std::string>{"hw_gpu_power_watts", "hw_rdma_tx_retx_pkts_total", "up",
                                      "hw_io_pressure_full_total_us", "tb_step"}
           : std::vector<std::string>{"DCGM_FI_DEV_POWER_USAGE", "node_infiniband_state_id", "up",
                                      "node_infiniband_local_ack_timeout_errors_total",
                                      "node_pressure_io_stalled_seconds_total", "training_step"}) {
    const auto one = a.Samples(metric, scene.start, scene.end, {});
    const auto other = b.Samples(metric, scene.start, scene.end, {});
    ASSERT_THAT(one, IsOk());
    ASSERT_THAT(other, IsOk());
    EXPECT_TRUE(one->complete && other->complete);
    std::map<telemetry::Labels, const telemetry::TimeSeries*> by_labels;
    for (const telemetry::TimeSeries& series : other->series) by_labels[series.labels] = &series;
    EXPECT_EQ(one->series.size(), other->series.size()) << metric;
    EXPECT_FALSE(one->series.empty()) << metric;
    for (const telemetry::TimeSeries& series : one->series) {
      const auto found = by_labels.find(series.labels);
      ASSERT_NE(found, by_labels.end()) << telemetry::ShowLabels(series.labels);
      const std::vector<timeseries::Sample>& samples = found->second->samples;
      ASSERT_EQ(series.samples.size(), samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i) {
        ASSERT_EQ(series.samples[i].at, samples[i].at);
        ASSERT_NEAR(series.samples[i].value, samples[i].value, 1e-6 * std::abs(samples[i].value));
      }
    }
  }
}

TEST(WritingTest, ABundleOpensAndHoldsTheScene) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const Folder folder;
    const Scene scene = Small("heartbeat", seed);
    ASSERT_THAT(WriteBundle(scene, folder / "bundle"), IsOk());
    const auto bundle = host::Bundle::Open(folder / "bundle");
    ASSERT_THAT(bundle, IsOk());
    EXPECT_THAT((*bundle)->nodes(), ElementsAreArray(scene.nodes));
    EXPECT_EQ((*bundle)->incident().description(), scene.incident);
    EXPECT_THAT((*bundle)->incident().logs(), SizeIs(scene.logs.size()));
    EXPECT_EQ((*bundle)->incident().workload().framework(), "MaxText");
    for (const auto& log : (*bundle)->incident().logs())
      EXPECT_THAT((*bundle)->LogPath(log.path()), IsOk());
    const auto files = host::BundleFiles::Open(folder / "bundle");
    ASSERT_THAT(files, IsOk());
    const auto source = telemetry::OpenMetricsSource::Open(*files, std::nullopt, {}, {});
    ASSERT_THAT(source, IsOk());
    MemorySource memory("memory", scene.series);
    ExpectEqual(scene, memory, **source);
  }
}

TEST(WritingTest, TheTruthIsNotInTheBundle) {
  const Folder folder;
  const Scene scene = Small("retransmits", 1);
  ASSERT_THAT(WriteBundle(scene, folder / "bundle"), IsOk());
  for (const auto& entry : fs::recursive_directory_iterator(folder / "bundle"))
    EXPECT_EQ(entry.path().filename().string().find("truth"), std::string::npos);
  EXPECT_THAT(TruthJson(scene), HasSubstr(scene.truth.labels[0]));
}

TEST(WritingTest, MemoryAnswersAsASourceDoes) {
  const Scene scene = Small("fine", 1);
  MemorySource memory("memory", scene.series);
  const std::string metric = scene.series[0].labels.at(telemetry::kMetricName);
  const auto one = memory.SeriesOf(absl::StrCat("{__name__=", "\"up\",instance=\"",
                                                scene.series[0].labels.at("instance"), "\"}"),
                                   scene.start, scene.end, {});
  ASSERT_THAT(one, IsOk());
  EXPECT_THAT(one->series, SizeIs(1));
  telemetry::Call few;
  few.limits.series = 3;
  const auto cut = memory.Samples(metric, scene.start, scene.end, few);
  ASSERT_THAT(cut, IsOk());
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->series, SizeIs(3));
  EXPECT_THAT(
      memory.Samples(absl::StrCat("rate(", metric, "[5m])"), scene.start, scene.end, {}).status(),
      StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(memory.Samples("no_such", scene.start, scene.end, {})->series, IsEmpty());
  // A sample speaks for five minutes.
  EXPECT_FALSE(memory.Instant(metric, scene.end, {})->series.empty());
  EXPECT_THAT(memory.Instant(metric, scene.end + absl::Minutes(6), {})->series, IsEmpty());
  telemetry::Call late;
  late.deadline = absl::InfinitePast();
  EXPECT_THAT(memory.Samples(metric, scene.start, scene.end, late).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST(SceneTsdbTest, ARealPrometheusServesTheScene) {
  constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
  if (!host::RunProcess({"promtool", "--version"}, kPath, {}, {}).ok() ||
      !host::RunProcess({"prometheus", "--version"}, kPath, {}, {}).ok())
    GTEST_SKIP() << "prometheus and promtool are not installed (Debian's package prometheus)";
  for (const std::uint64_t seed : {1U, 2U}) {
    const Folder folder;
    const Scene scene = Small("retransmits", seed);
    ASSERT_THAT(WriteTsdb(scene, folder / "tsdb"), IsOk());
    const auto tsdb = telemetry::StoredTsdb::Open(folder / "tsdb", {}, {});
    ASSERT_THAT(tsdb, IsOk());
    MemorySource memory("memory", scene.series);
    ExpectEqual(scene, memory, **tsdb);
    const auto inventory =
        telemetry::Discover(**tsdb, Shipped(), scene.start, scene.end, scene.nodes, {});
    ASSERT_THAT(inventory, IsOk());
    EXPECT_THAT(inventory->missing_nodes, IsEmpty());
    EXPECT_THAT(inventory->other, IsEmpty());
  }
}

}  // namespace
}  // namespace galen::scenarios
