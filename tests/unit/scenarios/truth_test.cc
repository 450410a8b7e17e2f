// The numbers of a scene show its truth, and its decoys are not part of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/scenarios/scene.h"
#include "tests/unit/scenarios/looking.h"

namespace galen::scenarios {
namespace {

using absl::Minutes;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Two of either style.
constexpr std::uint64_t kSeeds[] = {1, 2, 3, 4};

double Busy(const Scene& scene) { return scene.style == Style::kAmd ? 912 : 645; }

double MedianOf(const std::map<std::string, double>& values) {
  std::vector<double> sorted;
  for (const auto& [place, value] : values) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

TEST(TruthTest, RetransmitsBeginAndEndWithThePhasesOfThroughput) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("retransmits", seed, {.nodes = 24});
    const Truth& truth = at.scene().truth;
    SCOPED_TRACE(seed);
    EXPECT_THAT(truth.guilty_nodes, SizeIs(4));
    ASSERT_THAT(truth.transitions, SizeIs(3));
    const absl::Time first = truth.transitions[0].at;
    const absl::Time recovered = truth.transitions[1].at;
    const absl::Time second = truth.transitions[2].at;
    const double before = at.Throughput(at.scene().jobs[0].train + Minutes(5), first - Minutes(1));
    const double slow = at.Throughput(first + Minutes(1), recovered - Minutes(1));
    EXPECT_NEAR(slow / before, 0.79, 0.025);
    EXPECT_NEAR(at.Throughput(recovered + Minutes(1), second - Minutes(1)) / before, 1, 0.01);
    const double slower = at.Throughput(second + Minutes(1), at.scene().end);
    EXPECT_NEAR(slower / before, 0.77, 0.025);
    EXPECT_LT(slower, slow);
    // Retransmissions happen within the phases only.
    const auto phases = {std::pair(first, recovered), std::pair(second, at.scene().end)};
    for (const auto& [from, to] : phases) {
      for (absl::Time t = from + Minutes(2); t < to - Minutes(2); t += Minutes(2)) {
        double most = 0;
        for (const auto& [port, rate] : at.Means("rdma_retransmissions", t, t + Minutes(2))) {
          most = std::max(most, rate);
          if (!at.GuiltyDevice(port)) {
            EXPECT_EQ(rate, 0) << port;
          }
        }
        EXPECT_GT(most, 0.1);
      }
    }
    for (const auto& [from, to] : {std::pair(at.scene().start + Minutes(3), first - Minutes(1)),
                                   std::pair(recovered + Minutes(1), second - Minutes(1))}) {
      for (const auto& [port, rate] : at.Means("rdma_retransmissions", from, to))
        EXPECT_EQ(rate, 0) << port;
    }
    // All nodes draw less during the phases, which is not a fault of any of them.
    const auto early = at.Medians("gpu_power", at.scene().jobs[0].train + Minutes(5), first);
    const auto late = at.Medians("gpu_power", second, at.scene().end);
    for (const auto& [gpu, watts] : early) EXPECT_LT(late.at(gpu), watts * 0.96) << gpu;
  }
}

TEST(TruthTest, WhoIsAccusedOfNoHeartbeatWorkedToTheEnd) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("heartbeat", seed);
    SCOPED_TRACE(seed);
    const absl::Time end = at.scene().jobs[0].end;
    EXPECT_TRUE(at.scene().truth.system_fine);
    EXPECT_THAT(at.scene().truth.guilty_nodes, IsEmpty());
    const auto power = at.Medians("gpu_power", end - Minutes(15), end - Minutes(1));
    EXPECT_THAT(power, SizeIs(12 * 8));
    for (const auto& [gpu, watts] : power) EXPECT_NEAR(watts / Busy(at.scene()), 1, 0.06) << gpu;
    EXPECT_GT(MedianOf(at.Medians("rdma_sent", end - Minutes(15), end - Minutes(1))), 5e9);
    EXPECT_TRUE(absl::StrContains(at.scene().logs[0].text, "stopped sending heartbeats"));
  }
}

TEST(TruthTest, AHangIsFullUtilisationAtIdlePowerAndTheOriginsDiffer) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("hang", seed);
    SCOPED_TRACE(seed);
    const absl::Time stuck = at.scene().truth.transitions[0].at;
    const auto power = at.Medians("gpu_power", stuck + Minutes(2), at.scene().end);
    for (const auto& [gpu, watts] : power) EXPECT_LT(watts, Busy(at.scene()) * 0.4) << gpu;
    std::map<std::string, std::string> patterns;
    for (const auto& [gpu, used] :
         at.Medians("gpu_utilization", stuck + Minutes(2), at.scene().end))
      absl::StrAppend(&patterns[gpu.substr(0, gpu.find('/'))], used > 50 ? "1" : "0");
    std::string usual;
    for (const auto& [node, pattern] : patterns) {
      if (at.Guilty(node)) continue;
      if (usual.empty()) usual = pattern;
      EXPECT_EQ(pattern, usual) << node;
    }
    EXPECT_TRUE(absl::StrContains(usual, "1"));
    EXPECT_THAT(at.scene().truth.guilty_nodes, Not(IsEmpty()));
    for (const std::string& node : at.scene().truth.guilty_nodes)
      EXPECT_NE(patterns.at(node), usual);
  }
}

TEST(TruthTest, ADeadNodeSaysNothingMore) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("dead_node", seed);
    SCOPED_TRACE(seed);
    const absl::Time died = at.scene().truth.transitions[0].at;
    const absl::Time end = at.scene().jobs[0].end;
    EXPECT_GE(end - died, Minutes(10));
    const auto power = at.Means("gpu_power", died + Minutes(3), end);
    EXPECT_THAT(power, SizeIs(11 * 8));
    for (const auto& [gpu, watts] : power) {
      EXPECT_FALSE(at.Guilty(gpu));
      EXPECT_LT(watts, Busy(at.scene()) * 0.4);
    }
    for (const auto& [exporter, up] : at.Means("exporter_up", died + Minutes(3), end))
      EXPECT_EQ(up < 0.5, at.Guilty(exporter)) << exporter;
  }
}

TEST(TruthTest, ARestoredJobIsAPercentSlowerAndEveryHostOfItRunsMore) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("restore_leak", seed, {.nodes = 24});
    SCOPED_TRACE(seed);
    ASSERT_THAT(at.scene().jobs, SizeIs(2));
    const Job& fresh = at.scene().jobs[0];
    const Job& restored = at.scene().jobs[1];
    const auto throughput = [&](const Job& job) {
      std::vector<double> all;
      const auto samples = at.source().Samples(
          absl::StrCat(at.scene().style == Style::kAmd ? "tb_perf_per_device_tokens_per_sec"
                                                       : "training_tokens_per_second",
                       "{job_id=\"", job.name, "\"}"),
          job.train + Minutes(5), job.end, {});
      EXPECT_TRUE(samples.ok());
      EXPECT_THAT(samples->series, SizeIs(1));
      for (const timeseries::Sample& sample : samples->series[0].samples)
        all.push_back(sample.value);
      std::sort(all.begin(), all.end());
      return all[all.size() / 2];
    };
    EXPECT_NEAR(throughput(restored) / throughput(fresh), 0.99, 0.004);
    const auto before = at.Medians("runnable_tasks", fresh.train + Minutes(5), fresh.end);
    const auto after = at.Medians("runnable_tasks", restored.train + Minutes(5), restored.end);
    double usual = 0;
    for (const std::string& node : fresh.nodes) usual += before.at(node);
    usual /= static_cast<double>(fresh.nodes.size());
    for (const std::string& node : restored.nodes) EXPECT_NEAR(after.at(node) - usual, 17, 4);
  }
}

TEST(TruthTest, AnImbalanceMovesTrainingAlone) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("load_balance", seed);
    SCOPED_TRACE(seed);
    const absl::Time turn = at.scene().truth.transitions[0].at;
    const absl::Time begin = at.scene().jobs[0].train + Minutes(5);
    const absl::Time end = at.scene().end;
    EXPECT_GT(MedianOf(at.Medians("load_balance_loss", turn + Minutes(6), end)),
              1.3 * MedianOf(at.Medians("load_balance_loss", begin, turn)));
    const double before = at.Throughput(begin, turn);
    const double middle = at.Throughput(turn + (end - turn) * 0.45, turn + (end - turn) * 0.55);
    const double last = at.Throughput(end - Minutes(8), end);
    EXPECT_LT(middle, before * 0.98);
    EXPECT_LT(last, middle * 0.98);
    for (const char* const quantity : {"gpu_power", "gpu_clock", "gpu_temperature", "rdma_sent",
                                       "runnable_tasks", "host_memory_available"}) {
      const auto early = at.Medians(quantity, begin, turn);
      for (const auto& [place, value] : at.Medians(quantity, turn, end))
        EXPECT_NEAR(value / early.at(place), 1, 0.08) << quantity << " of " << place;
    }
    for (const auto& [port, rate] : at.Means("rdma_retransmissions", begin, end))
      EXPECT_EQ(rate, 0) << port;
  }
}

// The guilty places, and no others, differ from the usual value by a factor of `least` to `most`.
void ExpectOutlier(Looking& at, const std::string& quantity, absl::Time from, bool device,
                   double least, double most) {
  const auto values = at.Medians(quantity, from, at.scene().end);
  const double usual = MedianOf(values);
  for (const auto& [place, value] : values) {
    const bool guilty = device ? at.GuiltyDevice(place) : at.Guilty(place);
    if (!guilty) continue;
    EXPECT_GE(value, usual * least) << quantity << " of " << place;
    EXPECT_LE(value, usual * most) << quantity << " of " << place;
  }
  for (const auto& [place, value] : values) {
    const bool guilty = device ? at.GuiltyDevice(place) : at.Guilty(place);
    if (guilty) continue;
    const double of_guilty = least > 1 ? usual * least : usual * most;
    EXPECT_EQ(value > of_guilty, least < 1) << quantity << " of " << place;
  }
}

TEST(TruthTest, AGpuThatThrottlesIsHotterAndSlowerThanAllOthers) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("thermal", seed);
    SCOPED_TRACE(seed);
    const absl::Time turn = at.scene().truth.transitions[0].at;
    ExpectOutlier(at, "gpu_temperature", turn + Minutes(5), true, 1.2, 2);
    ExpectOutlier(at, "gpu_clock", turn + Minutes(5), true, 0.5, 0.9);
    EXPECT_LT(at.Throughput(turn + Minutes(2), at.scene().end),
              at.Throughput(at.scene().jobs[0].train + Minutes(5), turn) * 0.93);
  }
}

TEST(TruthTest, CorrectableErrorsClimbOnOneGpuAlone) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("ecc", seed);
    SCOPED_TRACE(seed);
    for (const auto& [gpu, rate] :
         at.Means("gpu_ecc_correctable", at.scene().end - Minutes(10), at.scene().end)) {
      if (at.GuiltyDevice(gpu)) {
        EXPECT_GT(rate, 10) << gpu;
      } else {
        EXPECT_EQ(rate, 0) << gpu;
      }
    }
  }
}

TEST(TruthTest, AHostRunsOutOfMemoryAndItsKernelKills) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("host_memory", seed);
    SCOPED_TRACE(seed);
    const absl::Time end = at.scene().jobs[0].end;
    const auto total = at.Means("host_memory_total", at.scene().start, at.scene().end);
    for (const auto& [node, left] : at.Means("host_memory_available", end - Minutes(1), end))
      EXPECT_EQ(left < total.at(node) * 0.06, at.Guilty(node)) << node;
    for (const auto& [node, kills] : at.Highest("oom_kills", at.scene().start, at.scene().end))
      EXPECT_EQ(kills > 0, at.Guilty(node)) << node;
    EXPECT_TRUE(absl::StrContains(at.scene().logs.back().text, "Out of memory: Killed process"));
  }
}

TEST(TruthTest, ARunQueueGrowsOnOneHostAlone) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("cpu_contention", seed);
    SCOPED_TRACE(seed);
    const absl::Time turn = at.scene().truth.transitions[0].at;
    ExpectOutlier(at, "runnable_tasks", turn, false, 4, 100);
    EXPECT_LT(at.Throughput(turn, at.scene().end),
              at.Throughput(at.scene().jobs[0].train + Minutes(5), turn) * 0.95);
  }
}

TEST(TruthTest, ASlowStorageIsFeltByEveryNode) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("storage", seed);
    SCOPED_TRACE(seed);
    const absl::Time turn = at.scene().truth.transitions[0].at;
    const absl::Time begin = at.scene().jobs[0].train + Minutes(5);
    for (const auto& [node, share] : at.Medians("io_pressure", turn + Minutes(11), at.scene().end))
      EXPECT_GT(share, 0.08) << node;
    for (const auto& [node, share] : at.Medians("io_pressure", begin, turn))
      EXPECT_LT(share, 0.01) << node;
    if (at.scene().style == Style::kNvidia) {
      EXPECT_GT(MedianOf(at.Medians("data_time", turn + Minutes(11), at.scene().end)),
                5 * MedianOf(at.Medians("data_time", begin, turn)));
    }
    EXPECT_LT(at.Throughput(turn + Minutes(11), at.scene().end), at.Throughput(begin, turn) * 0.88);
  }
}

TEST(TruthTest, AllGpusOfASlowNodeAreHeldBelowTheOthers) {
  for (const std::uint64_t seed : kSeeds) {
    Looking at = Look("node_slow", seed);
    SCOPED_TRACE(seed);
    const absl::Time from = at.scene().truth.transitions.empty()
                                ? at.scene().jobs[0].train + Minutes(5)
                                : at.scene().truth.transitions[0].at;
    ExpectOutlier(at, "gpu_clock", from, true, 0.5, 0.85);
    EXPECT_THAT(at.scene().truth.guilty_devices, SizeIs(8));
  }
}

TEST(TruthTest, WhereNothingIsWrongNothingMoves) {
  bool normal = false;
  bool declines = false;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Looking at = Look("fine", seed, {.nodes = 8});
    SCOPED_TRACE(seed);
    EXPECT_TRUE(at.scene().truth.system_fine);
    const absl::Time begin = at.scene().jobs[0].train + Minutes(5);
    const absl::Time end = at.scene().end;
    const double change =
        at.Throughput(end - Minutes(10), end) / at.Throughput(begin, begin + Minutes(10));
    if (at.scene().truth.labels.empty()) {
      EXPECT_NEAR(change, 1, 0.01);
      normal = true;
    } else {
      EXPECT_LT(change, 0.93);
      declines = true;
    }
    for (const auto& [port, rate] : at.Means("rdma_retransmissions", begin, end))
      EXPECT_EQ(rate, 0) << port;
    for (const auto& [gpu, rate] : at.Means("gpu_ecc_correctable", begin, end))
      EXPECT_EQ(rate, 0) << gpu;
  }
  EXPECT_TRUE(normal);
  EXPECT_TRUE(declines);
}

}  // namespace
}  // namespace galen::scenarios
